//! Slots that nobody may call: each ends the test by its name.
use crate::ffi::ort::ep_api::OrtEpApi;
use crate::ffi::ort::{api, ep_api};

const API: usize = 0;
const EP_API: usize = 1;

/// Room for every slot of either table.
pub(crate) const SLOTS: usize = 440;

fn name<const TABLE: usize>(slot: usize) -> &'static str {
    let tables: &[&[&'static str]] = match TABLE {
        API => &[
            api::OrtApi::SLOTS,
            api::OrtApiV24::SLOTS,
            api::OrtApiV25::SLOTS,
            api::OrtApiV27::SLOTS,
            api::OrtApiV28::SLOTS,
            api::OrtApiV29::SLOTS,
            api::OrtApiV30::SLOTS,
            api::OrtApiV31::SLOTS,
            api::OrtApiV32::SLOTS,
        ],
        _ => &[
            OrtEpApi::SLOTS,
            ep_api::OrtEpApiV24::SLOTS,
            ep_api::OrtEpApiV25::SLOTS,
            ep_api::OrtEpApiV29::SLOTS,
            ep_api::OrtEpApiV31::SLOTS,
        ],
    };
    tables
        .iter()
        .flat_map(|t| t.iter())
        .nth(slot)
        .copied()
        .unwrap_or("beyond the newest table")
}

unsafe extern "system" fn trap<const TABLE: usize, const SLOT: usize>() {
    let table = if TABLE == API { "OrtApi" } else { "OrtEpApi" };
    eprintln!("{table} slot {SLOT} was called: {}", name::<TABLE>(SLOT));
    std::process::abort();
}

fn fill<const TABLE: usize>(table: &mut [usize; SLOTS]) {
    macro_rules! ones { ($base:expr; $($one:literal)*) => { $(
        table[$base + $one] = trap::<TABLE, { $base + $one }> as unsafe extern "system" fn() as usize;
    )* } }
    macro_rules! tens { ($($base:literal)*) => { $( ones!($base; 0 1 2 3 4 5 6 7 8 9); )* } }
    tens!(0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 180 190 200 210 220 230 240 250 260 270 280 290);
    tens!(300 310 320 330 340 350 360 370 380 390 400 410 420 430);
}

/// A table in which every slot is a trap.
pub(crate) fn api() -> &'static mut [usize; SLOTS] {
    let table = Box::leak(Box::new([0; SLOTS]));
    fill::<API>(table);
    table
}

/// A table in which every slot is a trap.
pub(crate) fn ep_api() -> &'static mut [usize; SLOTS] {
    let table = Box::leak(Box::new([0; SLOTS]));
    fill::<EP_API>(table);
    table
}

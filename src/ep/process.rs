//! Options of which MLX has one per process: the first who sets one fixes it for everybody.
use super::options::Tf32;
use crate::error::{Error, Result};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A value that every session of the process shares.
struct Shared<T> {
    setting: Mutex<Option<Setting<T>>>,
}

struct Setting<T> {
    value: T,
    /// Who fixed it. `None`: nobody, it is the default and may still change.
    who: Option<String>,
}

impl<T: Copy + PartialEq + fmt::Display> Shared<T> {
    const fn new() -> Self {
        Self {
            setting: Mutex::new(None),
        }
    }

    /// Sets the value that holds until somebody asks for another.
    fn default(&self, value: T, apply: impl FnOnce(T)) {
        let mut setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        if setting.is_none() {
            apply(value);
            *setting = Some(Setting { value, who: None });
        }
    }

    /// Fixes the value; an error if it is fixed to another.
    fn fix(&self, key: &str, value: T, who: &str, apply: impl FnOnce(T)) -> Result<()> {
        let mut setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        match &*setting {
            Some(Setting {
                value: fixed,
                who: Some(first),
            }) if *fixed != value => {
                return Err(Error::invalid(format!(
                    "option '{key}' is '{value}', but it is '{fixed}' since {first}: there is one per process; use the \
                     same value everywhere, or start another process"
                )));
            }
            Some(Setting { who: Some(_), .. }) => return Ok(()),
            Some(Setting {
                value: default,
                who: None,
            }) if *default == value => {}
            Some(_) | None => apply(value),
        }
        *setting = Some(Setting {
            value,
            who: Some(who.to_owned()),
        });
        Ok(())
    }

    /// The default, if it still holds, cannot change any more.
    fn settle(&self, who: &str) {
        let mut setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(setting) = &mut *setting {
            setting.who.get_or_insert_with(|| who.to_owned());
        }
    }
}

/// Whether MLX may round the inputs of float32 products to 10 bits of mantissa on a GPU.
static TF32: Shared<Tf32> = Shared::new();

/// MLX looks at this variable once, when it first multiplies on a GPU.
const VARIABLE: &str = "MLX_ENABLE_TF32";

fn set_tf32(value: Tf32) {
    let text = if value == Tf32::On { "1" } else { "0" };
    // SAFETY: no thread of this library reads the environment, and Rust's own readers are locked out. C code of the
    // host that reads it at this very moment on another thread could see it change: that is why it is done once, at
    // registration, and again only for a session that asks for another value before MLX has started.
    unsafe { std::env::set_var(VARIABLE, text) };
}

/// Applies what the environment says; float32 means float32 unless it says otherwise. `given` is the value of MLX's
/// own variable.
pub(super) fn register(option: Option<Tf32>, given: Option<Tf32>) -> Result<()> {
    if let Some(value) = option {
        return TF32.fix(
            "tf32",
            value,
            "the environment variable ONNXRUNTIME_EP_MLX_TF32 was read",
            set_tf32,
        );
    }
    match given {
        Some(value) => TF32.default(value, |_| ()),
        None => TF32.default(Tf32::Off, set_tf32),
    }
    Ok(())
}

/// Applies what a session asks for.
pub(super) fn create_session(option: Option<Tf32>) -> Result<()> {
    option.map_or(Ok(()), |value| {
        TF32.fix("tf32", value, "an earlier session asked for it", set_tf32)
    })
}

/// MLX is about to work: it has read its settings afterwards.
pub(super) fn start() {
    TF32.settle("MLX started with it");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn the_first_who_sets_a_value_fixes_it() {
        let shared = Shared::new();
        let applied = RefCell::new(Vec::new());
        let apply = |v: u32| applied.borrow_mut().push(v);
        shared.default(1, apply);
        shared.default(5, apply);
        shared.fix("limit", 2, "the first session", apply).unwrap();
        shared.fix("limit", 2, "the second session", apply).unwrap();
        let text = shared
            .fix("limit", 3, "the third session", apply)
            .unwrap_err()
            .to_string();
        for word in ["'limit'", "'3'", "'2'", "the first session"] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(applied.into_inner(), [1, 2]);
    }

    #[test]
    fn a_default_that_was_used_is_fixed() {
        let shared = Shared::new();
        shared.default(1, |_| ());
        shared.settle("MLX started with it");
        shared
            .fix("limit", 1, "a session", |_| panic!("applied again"))
            .unwrap();
        let text = shared
            .fix("limit", 2, "a session", |_| panic!("applied late"))
            .unwrap_err()
            .to_string();
        assert!(text.contains("MLX started with it"), "{text}");
    }

    #[test]
    fn a_default_that_agrees_is_not_applied_twice() {
        let shared = Shared::new();
        shared.default(1, |_| ());
        shared
            .fix("limit", 1, "a session", |_| panic!("applied again"))
            .unwrap();
        assert!(shared.fix("limit", 2, "another", |_| ()).is_err());
    }
}

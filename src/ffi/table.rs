//! Declarations of ONNX Runtime's C tables, one line per slot.

/// A function table in header order. A bare name keeps the place of a slot that is never called.
macro_rules! c_table {
    (
        $(#[$doc:meta])*
        pub(crate) struct $Table:ident {
            $( $name:ident $( ( $($arg:ident : $t:ty),* $(,)? ) $(-> $r:ty)? )? ; )*
        }
    ) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(crate) struct $Table {
            $( pub(crate) $name: $crate::ffi::table::c_slot!($( ($($t),*) $(-> $r)? )?), )*
        }

        impl $Table {
            /// Name of each slot.
            pub(crate) const SLOTS: &'static [&'static str] = &[$(stringify!($name)),*];
            /// Argument and result types of each slot, where they are declared.
            #[cfg(test)]
            pub(crate) const SIGNATURES: &'static [$crate::ffi::table::Signature] =
                &[$( $crate::ffi::table::c_signature!($name $( ($($t),*) $(-> $r)? )?) ),*];
        }

        static_assertions::const_assert_eq!(size_of::<$Table>(), $Table::SLOTS.len() * size_of::<usize>());
    };
}

/// A table of callbacks that this crate fills: a version, then functions that may be absent.
macro_rules! c_callbacks {
    (
        $(#[$doc:meta])*
        pub(crate) struct $Table:ident {
            $version:ident: u32;
            $( $name:ident $( ( $($arg:ident : $t:ty),* $(,)? ) $(-> $r:ty)? )? ; )*
        }
    ) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(crate) struct $Table {
            pub(crate) $version: u32,
            $( pub(crate) $name: $crate::ffi::table::c_callback!($( ($($t),*) $(-> $r)? )?), )*
            /// ONNX Runtime reads some later members without looking at the version.
            pub(crate) spare: [usize; 16],
        }

        impl $Table {
            /// No callback is set.
            pub(crate) const EMPTY: Self = Self {
                $version: $crate::ffi::ort::API_VERSION,
                $( $name: None, )*
                spare: [0; 16],
            };
            /// Name of each member.
            pub(crate) const SLOTS: &'static [&'static str] = &[stringify!($version), $(stringify!($name)),*];
            /// Argument and result types of each callback, where they are declared.
            #[cfg(test)]
            pub(crate) const SIGNATURES: &'static [$crate::ffi::table::Signature] =
                &[$( $crate::ffi::table::c_signature!($name $( ($($t),*) $(-> $r)? )?) ),*];
        }

        static_assertions::const_assert_eq!(
            std::mem::offset_of!($Table, spare),
            $Table::SLOTS.len() * size_of::<usize>()
        );
    };
}

macro_rules! c_slot {
    () => { *const std::ffi::c_void };
    (($($t:ty),*) $(-> $r:ty)?) => { unsafe extern "system" fn($($t),*) $(-> $r)? };
}

macro_rules! c_callback {
    () => { Option<unsafe extern "system" fn()> };
    (($($t:ty),*) $(-> $r:ty)?) => { Option<unsafe extern "system" fn($($t),*) $(-> $r)?> };
}

#[cfg(test)]
macro_rules! c_signature {
    ($name:ident) => { (stringify!($name), None) };
    ($name:ident ($($t:ty),*)) => { (stringify!($name), Some((&[$(stringify!($t)),*], ""))) };
    ($name:ident ($($t:ty),*) -> $r:ty) => { (stringify!($name), Some((&[$(stringify!($t)),*], stringify!($r)))) };
}

/// Name of a slot, and the types of its arguments and result as text.
#[cfg(test)]
pub(crate) type Signature = (
    &'static str,
    Option<(&'static [&'static str], &'static str)>,
);

/// A C enum whose value may be one that is not listed here: every release adds some.
macro_rules! open_enums {
    ($( $name:ident { $( $variant:ident = $value:literal ),* $(,)? } )*) => {
        $(
            /// A C enum of ONNX Runtime.
            #[repr(transparent)]
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            pub(crate) struct $name(pub(crate) std::ffi::c_int);
            impl $name { $( pub(crate) const $variant: Self = Self($value); )* }
            static_assertions::const_assert_eq!(size_of::<$name>(), size_of::<std::ffi::c_int>());
        )*
        /// Every enum with its values.
        #[cfg(test)]
        pub(crate) const ENUMS: &[(&str, &[(&str, std::ffi::c_int)])] =
            &[$( (stringify!($name), &[$( (stringify!($variant), $value) ),*]) ),*];
    };
}

/// Types of which only pointers exist.
macro_rules! opaque {
    ($( $name:ident )*) => {
        $(
            /// Opaque; ONNX Runtime owns its layout.
            #[repr(C)]
            pub(crate) struct $name { _opaque: [u8; 0], _not_send: std::marker::PhantomData<*mut u8> }
        )*
    };
}

#[cfg(test)]
pub(crate) use c_signature;
pub(crate) use {c_callback, c_callbacks, c_slot, c_table, opaque, open_enums};

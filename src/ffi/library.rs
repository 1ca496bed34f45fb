//! Declares a library that is opened at run time: one line per function.
use crate::ffi::mlx::Features;
use std::ffi::{CStr, CString};

/// One declared function as text, for comparison with the C headers.
#[cfg(test)]
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    /// Name and type of each argument.
    pub(crate) arguments: &'static [(&'static str, &'static str)],
    /// Empty for `void`.
    pub(crate) result: &'static str,
    /// The optional group; empty if the function is required.
    pub(crate) group: &'static str,
}

/// Looks symbols up and keeps count of what was absent.
pub(crate) struct Lookup<'a> {
    symbol: &'a dyn Fn(&CStr) -> Option<*const ()>,
    /// Required functions that are absent.
    pub(crate) missing: Vec<&'static str>,
    /// Groups that are there as a whole.
    pub(crate) features: Features,
    /// Absent functions of groups of which another function is there.
    pub(crate) partial: Vec<&'static str>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(symbol: &'a dyn Fn(&CStr) -> Option<*const ()>) -> Self {
        Self {
            symbol,
            missing: Vec::new(),
            features: Features::empty(),
            partial: Vec::new(),
        }
    }

    pub(crate) fn optional(&self, name: &str) -> Option<*const ()> {
        let name = CString::new(name).ok()?;
        (self.symbol)(&name).filter(|address| !address.is_null())
    }

    pub(crate) fn required(&mut self, name: &'static str) -> Option<*const ()> {
        let address = self.optional(name);
        if address.is_none() {
            self.missing.push(name);
        }
        address
    }

    /// Sets the group's bit if all of `members` were found.
    pub(crate) fn group(&mut self, group: Features, members: &[(&'static str, bool)]) {
        let absent = members
            .iter()
            .filter(|(_, found)| !found)
            .map(|(name, _)| *name);
        let count = absent.clone().count();
        if count == 0 {
            self.features |= group;
        } else if count < members.len() {
            self.partial.extend(absent);
        }
    }
}

/// Reads the address of a symbol as a function pointer.
///
/// # Safety
/// `F` is an `extern "C"` function pointer type, and it is called only if the function at `address` has its signature.
pub(crate) unsafe fn function<F: Copy>(address: *const ()) -> F {
    const { assert!(size_of::<F>() == size_of::<*const ()>()) };
    // SAFETY: `F` is a function pointer by the caller's promise; on all supported platforms (POSIX requires it for dlsym) it has the
    // size, checked above, and the representation of a data pointer.
    unsafe { (&raw const address).cast::<F>().read() }
}

/// Declares function pointers that are looked up by name, and the methods of their C names.
///
/// `c_library! { struct Table in Owner.field; required { fn f(a: T) -> R; .. } optional GROUP { .. } .. }` makes `struct Table`, its
/// `load`, `SYMBOLS`, and in `impl Owner` an `unsafe fn` per function. A function of an optional group returns `None` unless
/// `Owner::features` has the group's bit, which is set only if the whole group was found.
macro_rules! c_library {
    (
        $(#[$doc:meta])* pub(crate) struct $Table:ident in $Owner:ident.$field:ident;
        required { $( fn $req:ident ( $($ra:ident : $rt:ty),* $(,)? ) $(-> $rr:ty)? ; )* }
        $( optional $flag:ident { $( fn $opt:ident ( $($oa:ident : $ot:ty),* $(,)? ) $(-> $or:ty)? ; )* } )*
    ) => {
        $(#[$doc])*
        pub(crate) struct $Table {
            $( $req: unsafe extern "C" fn($($rt),*) $(-> $rr)?, )*
            $( $( $opt: Option<unsafe extern "C" fn($($ot),*) $(-> $or)?>, )* )*
        }

        impl $Table {
            /// Every declared function.
            pub(crate) const SYMBOLS: &'static [&'static str] = &[$(stringify!($req),)* $($(stringify!($opt),)*)*];

            #[cfg(test)]
            pub(crate) const DECLARATIONS: &'static [$crate::ffi::library::Declaration] = &[
                $( $crate::ffi::library::Declaration {
                    name: stringify!($req),
                    arguments: &[$((stringify!($ra), stringify!($rt))),*],
                    result: concat!($(stringify!($rr))?),
                    group: "",
                }, )*
                $( $( $crate::ffi::library::Declaration {
                    name: stringify!($opt),
                    arguments: &[$((stringify!($oa), stringify!($ot))),*],
                    result: concat!($(stringify!($or))?),
                    group: stringify!($flag),
                }, )* )*
            ];

            /// Looks every function up; `None` if a required one is absent, after all of them were tried.
            ///
            /// # Safety
            /// A function of the table is called only if what `found` found under its name has the signature declared here.
            pub(crate) unsafe fn load(found: &mut $crate::ffi::library::Lookup<'_>) -> Option<Self> {
                $( let $req = found.required(stringify!($req)); )*
                $(
                    $( let $opt = found.optional(stringify!($opt)); )*
                    found.group($crate::ffi::mlx::Features::$flag, &[$( (stringify!($opt), $opt.is_some()) ),*]);
                )*
                Some(Self {
                    $(
                        // SAFETY: the field is an extern "C" function pointer; the caller promises not to call it where the type is wrong.
                        $req: unsafe { $crate::ffi::library::function($req?) },
                    )*
                    $( $(
                        // SAFETY: the field is an extern "C" function pointer; the caller promises not to call it where the type is wrong.
                        $opt: $opt.map(|address| unsafe { $crate::ffi::library::function(address) }),
                    )* )*
                })
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the argument lists are those of the C functions")]
        impl $Owner {
            $(
                /// # Safety
                /// As the C header says of the function of this name.
                #[inline]
                pub(crate) unsafe fn $req(&self, $($ra: $rt),*) $(-> $rr)? {
                    // SAFETY: the pointer is of the loaded library, which is never unloaded; the arguments are the caller's promise.
                    unsafe { (self.$field.$req)($($ra),*) }
                }
            )*
            $($(
                /// `None` if the loaded library lacks the group of this function.
                ///
                /// # Safety
                /// As the C header says of the function of this name.
                #[inline]
                pub(crate) unsafe fn $opt(&self, $($oa: $ot),*) -> Option<c_library!(@result $($or)?)> {
                    if !self.features.contains($crate::ffi::mlx::Features::$flag) {
                        return None;
                    }
                    let function = self.$field.$opt?;
                    // SAFETY: the pointer is of the loaded library, which is never unloaded; the arguments are the caller's promise.
                    Some(unsafe { function($($oa),*) })
                }
            )*)*
        }
    };
    (@result $t:ty) => { $t };
    (@result) => { () };
}
pub(crate) use c_library;

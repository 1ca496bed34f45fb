//! Options of a session and the environment. This is the only file that reads the environment.
use crate::device::{DeviceKind, Settings};
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fmt;

/// What session config entries of this execution provider start with.
pub(crate) const PREFIX: &str = "ep.mlxexecutionprovider.";

/// What environment variables of this execution provider start with.
const VARIABLE_PREFIX: &str = "ONNXRUNTIME_EP_MLX_";

/// Keys under this prefix configure ONNX Runtime's own arena.
const ARENA: &str = "arena.";

/// A closed set of values, each with its spelling.
trait Choice: Copy + Sized + 'static {
    const VALUES: &'static [(&'static str, Self)];
}

macro_rules! choices {
    ($($(#[$doc:meta])* $Name:ident { $($(#[$vdoc:meta])* $Value:ident = $text:literal),* $(,)? })*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $Name { $($(#[$vdoc])* $Value),* }

        impl Choice for $Name {
            const VALUES: &'static [(&'static str, Self)] = &[$(($text, Self::$Value)),*];
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$Value => $text),* })
            }
        }
    )* };
}

choices! {
    /// Where a session computes.
    DeviceChoice {
        /// The GPU if MLX has one, else the CPU.
        Auto = "auto",
        Gpu = "gpu",
        Cpu = "cpu",
    }
    /// What a session claims.
    Claim {
        /// On a GPU, partitions without floating-point work are given back.
        Auto = "auto",
        All = "all",
    }
    /// Whether float32 products may be computed with less precise inputs, on GPUs that can.
    Tf32 {
        Off = "off",
        On = "on",
    }
}

/// Declares the options: field, type and default, each once. Those of the process are `None` unless somebody sets them.
macro_rules! options {
    (session { $($key:ident: $Type:ident = $default:ident;)* } process { $($shared:ident: $Shared:ident;)* }) => {
        /// The options of one session, and what it asks of the process.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct Options {
            $(pub(crate) $key: $Type,)*
            $(pub(crate) $shared: Option<$Shared>,)*
        }

        impl Default for Options {
            fn default() -> Self {
                Self { $($key: $Type::$default,)* $($shared: None,)* }
            }
        }

        impl Options {
            const KEYS: &'static [&'static str] = &[$(stringify!($key),)* $(stringify!($shared),)*];

            /// Sets one option; `spelling` is how the user named it.
            fn set(&mut self, key: &str, value: &str, spelling: &dyn fmt::Display) -> Result<()> {
                match key {
                    $(stringify!($key) => self.$key = choose(value, spelling)?,)*
                    $(stringify!($shared) => self.$shared = Some(choose(value, spelling)?),)*
                    _ => return Err(unknown(spelling)),
                }
                Ok(())
            }
        }
    };
}

options! {
    session {
        device: DeviceChoice = Auto;
        claim: Claim = Auto;
    }
    process {
        tf32: Tf32;
    }
}

fn choose<T: Choice>(value: &str, spelling: &dyn fmt::Display) -> Result<T> {
    if let Some((_, found)) = T::VALUES.iter().find(|(text, _)| *text == value) {
        return Ok(*found);
    }
    let valid: Vec<_> = T::VALUES.iter().map(|(text, _)| *text).collect();
    Err(Error::invalid(format!(
        "{spelling} is '{value}'; valid values: {}",
        valid.join(", ")
    )))
}

fn unknown(spelling: &dyn fmt::Display) -> Error {
    let keys = Options::KEYS.join(", ");
    Error::invalid(format!(
        "{spelling} is no option of this execution provider; options: {keys}"
    ))
}

impl Options {
    /// Applies the config entries of a session on top of `self`. Entries of others are left alone.
    pub(crate) fn with_entries<'a>(
        mut self,
        entries: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        for (entry, value) in entries {
            if let Some(key) = entry.strip_prefix(PREFIX)
                && !key.starts_with(ARENA)
            {
                self.set(key, value, &format_args!("option '{key}'"))?;
            }
        }
        Ok(self)
    }

    /// The device of the session; `gpu` says whether MLX has one.
    pub(crate) fn device_kind(&self, gpu: bool) -> Result<DeviceKind> {
        match (self.device, gpu) {
            (DeviceChoice::Gpu, false) => Err(Error::invalid(
                "option 'device' is 'gpu', but MLX has no GPU here; use 'auto' or 'cpu', or a libmlxc with a GPU backend",
            )),
            (DeviceChoice::Auto | DeviceChoice::Gpu, true) => Ok(DeviceKind::Gpu),
            (DeviceChoice::Auto, false) | (DeviceChoice::Cpu, _) => Ok(DeviceKind::Cpu),
        }
    }
}

/// What the environment says, read once per registration.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) settings: Settings,
    /// The defaults of sessions.
    pub(crate) options: Options,
    /// What MLX's own variable says.
    pub(crate) mlx_tf32: Option<Tf32>,
    /// Variables with our prefix that mean nothing.
    pub(crate) unknown: Vec<String>,
}

impl Environment {
    /// Reads the environment of the process.
    pub(crate) fn read() -> Result<Self> {
        Self::from_variables(std::env::vars_os())
    }

    fn from_variables(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Self> {
        let mut environment = Self {
            settings: Settings::default(),
            options: Options::default(),
            mlx_tf32: None,
            unknown: Vec::new(),
        };
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            if name == "MLX_ENABLE_TF32" {
                environment.mlx_tf32 = Some(if value == "0" { Tf32::Off } else { Tf32::On });
            }
            let Some(key) = name.strip_prefix(VARIABLE_PREFIX) else {
                continue;
            };
            // An empty variable is as good as none: shells have no other way to say so for one command.
            if value.is_empty() {
                continue;
            }
            match key {
                "LIBMLXC" => environment.settings.libmlxc = Some(value.into()),
                "ALLOW_UNTESTED" => environment.settings.allow_untested = value != "0",
                _ => {
                    let key = key.to_ascii_lowercase();
                    if Options::KEYS.contains(&key.as_str()) {
                        let value = value.to_string_lossy();
                        environment.options.set(
                            &key,
                            &value,
                            &format_args!("environment variable {name}"),
                        )?;
                    } else {
                        environment.unknown.push(name.to_owned());
                    }
                }
            }
        }
        Ok(environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries<'a>(list: &'a [(&'a str, &'a str)]) -> Result<Options> {
        Options::default().with_entries(list.iter().copied())
    }

    fn environment(list: &[(&str, &str)]) -> Result<Environment> {
        Environment::from_variables(list.iter().map(|(k, v)| (k.into(), v.into())))
    }

    #[test]
    fn entries_are_read_and_others_left_alone() {
        let options = entries(&[
            ("session.disable_cpu_ep_fallback", "1"),
            ("ep.otherexecutionprovider.device", "nonsense"),
            ("ep.mlxexecutionprovider.arena.max_mem", "5"),
            ("ep.mlxexecutionprovider.device", "cpu"),
            ("ep.mlxexecutionprovider.claim", "all"),
            ("ep.mlxexecutionprovider.tf32", "on"),
        ]);
        assert_eq!(
            options.unwrap(),
            Options {
                device: DeviceChoice::Cpu,
                claim: Claim::All,
                tf32: Some(Tf32::On),
            }
        );
    }

    #[test]
    fn an_unknown_key_lists_the_valid_ones() {
        let error = entries(&[("ep.mlxexecutionprovider.devise", "cpu")]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::InvalidArgument(_)));
        assert!(
            text.contains("'devise'") && text.contains("device, claim, tf32"),
            "{text}"
        );
    }

    #[test]
    fn a_bad_value_lists_the_valid_ones() {
        let text = entries(&[("ep.mlxexecutionprovider.device", "GPU")])
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("'GPU'") && text.contains("auto, gpu, cpu"),
            "{text}"
        );
    }

    #[test]
    fn the_environment_is_the_default_of_a_session() {
        let found = environment(&[
            ("ONNXRUNTIME_EP_MLX_DEVICE", "cpu"),
            ("ONNXRUNTIME_EP_MLX_CLAIM", ""),
            ("ONNXRUNTIME_EP_MLX_LIBMLXC", "/x/libmlxc.so"),
            ("ONNXRUNTIME_EP_MLX_ALLOW_UNTESTED", "1"),
            ("ONNXRUNTIME_EP_MLX_DEVISE", "cpu"),
            ("MLX_ENABLE_TF32", "0"),
            ("PATH", "/bin"),
        ])
        .unwrap();
        assert_eq!(
            found.options,
            Options {
                device: DeviceChoice::Cpu,
                ..Options::default()
            }
        );
        assert_eq!(
            found.settings.libmlxc.as_deref(),
            Some(std::path::Path::new("/x/libmlxc.so"))
        );
        assert!(found.settings.allow_untested);
        assert_eq!(found.mlx_tf32, Some(Tf32::Off));
        assert_eq!(found.unknown, ["ONNXRUNTIME_EP_MLX_DEVISE"]);
        let over = found
            .options
            .with_entries([("ep.mlxexecutionprovider.device", "auto")].into_iter());
        assert_eq!(over.unwrap().device, DeviceChoice::Auto);
    }

    #[test]
    fn a_bad_variable_is_named() {
        let text = environment(&[("ONNXRUNTIME_EP_MLX_CLAIM", "some")])
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("ONNXRUNTIME_EP_MLX_CLAIM") && text.contains("auto, all"),
            "{text}"
        );
    }

    #[test]
    fn a_gpu_that_is_not_there_is_refused() {
        let gpu = Options {
            device: DeviceChoice::Gpu,
            ..Options::default()
        };
        assert!(matches!(
            gpu.device_kind(false),
            Err(Error::InvalidArgument(_))
        ));
        assert_eq!(gpu.device_kind(true).unwrap(), DeviceKind::Gpu);
        assert_eq!(
            Options::default().device_kind(false).unwrap(),
            DeviceKind::Cpu
        );
        let cpu = Options {
            device: DeviceChoice::Cpu,
            ..Options::default()
        };
        assert_eq!(cpu.device_kind(true).unwrap(), DeviceKind::Cpu);
    }
}

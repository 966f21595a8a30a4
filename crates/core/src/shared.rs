//! Constants that the kernel's C has too; a module lists its own, and `kernel/constants.h` is written from all lists.

use core::time::Duration;

/// A constant, and its name in C.
#[derive(Clone, Copy, Debug)]
pub struct SharedConstant {
    /// In C.
    pub name: &'static str,
    /// The source file that has it, and its reason.
    pub file: &'static str,
    /// As C needs it.
    pub value: SharedValue,
}

/// The value of a [`SharedConstant`].
#[derive(Clone, Copy, Debug)]
pub enum SharedValue {
    /// C has the bits of these.
    Float(f64),
    /// A number of things.
    Count(u64),
    /// C counts nanoseconds.
    Time(Duration),
}

impl From<f64> for SharedValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<u32> for SharedValue {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<Duration> for SharedValue {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

/// The constants of all modules, file by file.
pub fn shared_constants() -> Vec<SharedConstant> {
    [
        crate::interval::shared(),
        crate::monitor::shared(),
        crate::rtt::shared(),
        crate::pcc::shared(),
        crate::control::shared(),
        crate::utility::shared(),
    ]
    .concat()
}

/// `shared_with_c!("LEVEL_" [child] MANY, NOISY, FIRST = EXPRESSION)` is a function `shared`: the constants of this module under
/// these names, and those of its children.
macro_rules! shared_with_c {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($prefix:literal [$($child:ident),*] $($name:ident $(= $value:expr)?),* $(,)?) => {
        /// The constants of this module that C has too, and its children's.
        pub(crate) fn shared() -> Vec<$crate::shared::SharedConstant> {
            #[allow(unused_mut, reason = "a module may have no children")]
            let mut all = vec![$($crate::shared::SharedConstant {
                name: concat!($prefix, stringify!($name)),
                file: file!(),
                value: $crate::shared::shared_with_c!(@value $name $($value)?).into(),
            }),*];
            $(all.extend($child::shared());)*
            all
        }
    };
}
pub(crate) use shared_with_c;

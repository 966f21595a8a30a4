//! The constants that the kernel's C has too: `kernel/constants.h` is written from this list.

use crate::shared::SharedConstant;

/// All of them, file by file.
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

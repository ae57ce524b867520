//! Exception, receive-error and context-status codes.

macro_rules! codes {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $code,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The number in hardware fields.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The one with this number.
            pub fn from_code(code: u8) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.code() == code)
            }

            /// The name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

codes! {
    /// Exception numbers: `ETYPE` of `$SSR` and `$WSR` (`isa/system_and_limits.md` 10, ISA; 15 is
    /// `ibrk_code`).
    Exception {
        /// No exception.
        None = 0, "none";
        /// Retirement break (debug).
        RetirementBreak = 1, "retirement break";
        /// `trap` with an even operand (debug).
        Trap0 = 2, "patched breakpoint 0";
        /// `trap` with an odd operand (debug).
        Trap1 = 3, "patched breakpoint 1";
        /// Break on sync (debug).
        BreakOnSync = 4, "break on sync";
        /// Malign floating-point flag.
        FloatingPoint = 5, "floating point";
        /// Two accesses to one memory element, or access against fetch.
        Conflict = 6, "memory conflict";
        /// Invalid exchange configuration.
        ExchangeConfiguration = 7, "exchange configuration";
        /// Load or store address not populated or not aligned.
        InvalidAddress = 8, "invalid address";
        /// Invalid operand.
        InvalidOperand = 9, "invalid operand";
        /// Fetch or branch outside executable memory.
        InvalidPc = 10, "invalid PC";
        /// Data break (debug).
        DataBreak = 11, "data break";
        /// Invalid instruction.
        InvalidInstruction = 12, "invalid instruction";
        /// Exchange parity error.
        Exchange = 13, "exchange error";
        /// Uncorrectable memory error.
        Memory = 14, "memory error";
        /// Instruction break (debug).
        InstructionBreak = 15, "instruction break";
    }
}

impl Exception {
    /// True for the debug exceptions, which leave the context in status 2 and can be resumed.
    pub const fn is_debug(self) -> bool {
        matches!(
            self,
            Exception::RetirementBreak
                | Exception::Trap0
                | Exception::Trap1
                | Exception::BreakOnSync
                | Exception::DataBreak
                | Exception::InstructionBreak
        )
    }
}

codes! {
    /// Receive errors: `ERERR` of `$CTXT_STS` (`facts/hardware.md` 5.4, names from vendor metadata).
    ReceiveError {
        /// No error.
        None = 0, "none";
        /// Clash with an instruction's access: raises CONFLICT.
        Instruction = 1, "clash with instruction";
        /// Clash with instruction fetch: raises CONFLICT.
        Fetch = 2, "clash with fetch";
        /// Bad address.
        Address = 3, "address";
        /// Words arrived while workers were active.
        Workers = 4, "workers active";
        /// Data break.
        DataBreak = 5, "data break";
        /// Bad configuration.
        Configuration = 6, "configuration";
        /// Format changed while words were in flight.
        Modification = 7, "modification";
    }
}

impl ReceiveError {
    /// The exception that it raises in the supervisor (`isa/supervisor.md` 9).
    pub const fn exception(self) -> Exception {
        match self {
            ReceiveError::None => Exception::None,
            ReceiveError::Instruction | ReceiveError::Fetch => Exception::Conflict,
            _ => Exception::ExchangeConfiguration,
        }
    }
}

codes! {
    /// Two-bit context status in `$CTXT_STS` (`isa/system_and_limits.md` 10, ISA).
    ContextStatus {
        /// Inactive; a supervisor that waits in a sync or is held in a send.
        Inactive = 0, "inactive";
        /// Running.
        Active = 1, "active";
        /// Stopped by a debug exception.
        DebugStopped = 2, "stopped by a debug exception";
        /// Stopped by another exception.
        Excepted = 3, "stopped by an exception";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_map_back() {
        for code in 0..16 {
            assert_eq!(Exception::from_code(code).unwrap().code(), code);
        }
        for code in 0..8 {
            assert_eq!(ReceiveError::from_code(code).unwrap().code(), code);
        }
        assert_eq!(ReceiveError::from_code(8), None);
        assert_eq!(ContextStatus::from_code(3), Some(ContextStatus::Excepted));
    }
}

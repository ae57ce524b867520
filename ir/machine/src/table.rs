//! The instruction table: the single source of encoder, decoder, assembler, disassembler and the
//! simulator's decode. Adding an instruction is adding a row.
//!
//! Each row: variant, class, mnemonic, further mnemonics, lane, table, flags, operands by number
//! (`role kind modifier`), the order in which assembler text lists them, the 32 instruction bits
//! from bit 31 down (`C` is the coissue bit, a letter is a bit of operand 0, 1, .. from its top bit
//! down) and, where the bits of an operand do not stand in that order, where its pieces are:
//! `operand: [(instruction bit, operand bit, width), ..]`.
//!
//! Source: `isa/instructions.tsv` (363 classes) and `facts/exchange.md` 1.4 (the five exchange
//! forms at the end). `sendpicp` has a second word, which holds operands 4 and 5
//! (`crate::bundle`).

use crate::info::rows;

rows! {
    AbsMmmn "abs_mmmn" "abs" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000001110000aaaa0000" {};
    AddMmmn "add_mmmn" "add" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0000aaaa0001" {};
    AddMmmnSi "add_mmmn_si" "add" ["adds"] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 1, 2] "C0100010bbbbaaaacccccccccccccccc" {};
    AddMmmnZi "add_mmmn_zi" "add" ["addz"] Main Common [coissue]
        (Def M, Use M, Use Zimm(16)) [0, 1, 2] "C0100000bbbbaaaacccccccccccccccc" {};
    AndMmmn "and_mmmn" "and" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0000aaaa0011" {};
    AndMmmnZi "and_mmmn_zi" "and" [] Main Common [coissue]
        (Def M, Use M, Use Zimm(12)) [0, 1, 2] "C1000010bbbbaaaa1000cccccccccccc" {};
    AndcMmmn "andc_mmmn" "andc" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0001aaaa0000" {};
    AndcMmmnZi "andc_mmmn_zi" "andc" [] Main Common [coissue]
        (Def M, Use M, Use Zimm(12)) [0, 1, 2] "C1000010bbbbaaaa1011cccccccccccc" {};
    Bitrev8Mmmn "bitrev8_mmmn" "bitrev8" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000000000000aaaa0000" {};
    BrMmmn "br_mmmn" "br" [] Main Common [coissue control]
        (Use M) [0] "C1000011aaaa00000000000000000000" {};
    BriMmmnZi "bri_mmmn_zi" "bri" [] Main Common [coissue control]
        (Use Target19) [0] "C100000010000aaaaaaaaaaaaaaaaaaa" {};
    BrnegMmmnZi "brneg_mmmn_zi" "brneg" [] Main Common [coissue control]
        (Use M, Use Target19) [0, 1] "C0010000aaaa0bbbbbbbbbbbbbbbbbbb" {};
    BrnzMmmnZi "brnz_mmmn_zi" "brnz" [] Main Common [coissue control]
        (Use M, Use Target19) [0, 1] "C0010001aaaa0bbbbbbbbbbbbbbbbbbb" {};
    BrnzdecMmmnZi "brnzdec_mmmn_zi" "brnzdec" [] Main Common [coissue control]
        (DefUse M, Use Target19) [0, 1] "C0010011aaaa1bbbbbbbbbbbbbbbbbbb" {};
    BrposMmmnZi "brpos_mmmn_zi" "brpos" [] Main Common [coissue control]
        (Use M, Use Target19) [0, 1] "C0010010aaaa0bbbbbbbbbbbbbbbbbbb" {};
    BrzMmmnZi "brz_mmmn_zi" "brz" [] Main Common [coissue control]
        (Use M, Use Target19) [0, 1] "C0010011aaaa0bbbbbbbbbbbbbbbbbbb" {};
    CallMmmnZi "call_mmmn_zi" "call" [] Main Common [coissue control]
        (Def M, Use Target20) [0, 1] "C0011000aaaabbbbbbbbbbbbbbbbbbbb" {};
    ClzMmmn "clz_mmmn" "clz" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000000100000aaaa0000" {};
    CmpeqMmmn "cmpeq_mmmn" "cmpeq" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0001aaaa0010" {};
    CmpeqMmmnSi "cmpeq_mmmn_si" "cmpeq" ["cmpeqs"] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 1, 2] "C0101000bbbbaaaacccccccccccccccc" {};
    CmpeqMmmnZi "cmpeq_mmmn_zi" "cmpeq" ["cmpeqz"] Main Common [coissue]
        (Def M, Use M, Use Zimm(16)) [0, 1, 2] "C0100110bbbbaaaacccccccccccccccc" {};
    CmpneMmmn "cmpne_mmmn" "cmpne" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0001aaaa0011" {};
    CmpsltMmmn "cmpslt_mmmn" "cmpslt" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0010aaaa0000" {};
    CmpsltMmmnSi "cmpslt_mmmn_si" "cmpslt" [] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 1, 2] "C0101001bbbbaaaacccccccccccccccc" {};
    CmpultMmmn "cmpult_mmmn" "cmpult" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0010aaaa0001" {};
    CmpultMmmnZi "cmpult_mmmn_zi" "cmpult" [] Main Common [coissue]
        (Def M, Use M, Use Rel16) [0, 1, 2] "C0101010bbbbaaaacccccccccccccccc" {};
    CmsMmmn "cms_mmmn" "cms" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000000010000aaaa0000" {};
    GetMmmnZi "get_mmmn_zi" "get" [] Main Common [coissue system]
        (Def M, Use Zimm(8)) [0, 1] "C10000010000aaaa00000000bbbbbbbb" {};
    Ld32Mmmn "ld32_mmmn" "ld32" [] Main Common [coissue load]
        (Use M, Use M, Use M, Def M) [3, 0, 1, 2] "C1001101aaaaccccbbbb0000dddd0000" {};
    Ld32MmmnZi "ld32_mmmn_zi" "ld32" [] Main Common [coissue load]
        (Use M, Use M, Use Zimm(12), Def M) [3, 0, 1, 2] "C0000001aaaaddddbbbbcccccccccccc" {};
    Ld32stepMmmn "ld32step_mmmn" "ld32step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use M, Def M) [3, 0, 1, 2] "C1000111aaaaccccbbbb0001dddd0000" {};
    Ld32stepMmmnSi "ld32step_mmmn_si" "ld32step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def M) [3, 0, 1, 2] "C0011100aaaaddddbbbb0001cccccccc" {};
    Lds16Mmmn "lds16_mmmn" "lds16" [] Main Common [coissue load]
        (Use M, Use M, Use M, Def M) [3, 0, 1, 2] "C1001101aaaaccccbbbb0001dddd0000" {};
    Lds16MmmnZi "lds16_mmmn_zi" "lds16" [] Main Common [coissue load]
        (Use M, Use M, Use Zimm(12), Def M) [3, 0, 1, 2] "C0000100aaaaddddbbbbcccccccccccc" {};
    Lds16stepMmmn "lds16step_mmmn" "lds16step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use M, Def M) [3, 0, 1, 2] "C1000111aaaaccccbbbb0100dddd0000" {};
    Lds16stepMmmnSi "lds16step_mmmn_si" "lds16step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def M) [3, 0, 1, 2] "C0011100aaaaddddbbbb0100cccccccc" {};
    Lds8Mmmn "lds8_mmmn" "lds8" [] Main Common [coissue load]
        (Use M, Use M, Use M, Def M) [3, 0, 1, 2] "C1001101aaaaccccbbbb0001dddd0001" {};
    Lds8MmmnZi "lds8_mmmn_zi" "lds8" [] Main Common [coissue load]
        (Use M, Use M, Use Zimm(12), Def M) [3, 0, 1, 2] "C0000101aaaaddddbbbbcccccccccccc" {};
    Lds8stepMmmn "lds8step_mmmn" "lds8step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use M, Def M) [3, 0, 1, 2] "C1000111aaaaccccbbbb0101dddd0000" {};
    Lds8stepMmmnSi "lds8step_mmmn_si" "lds8step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def M) [3, 0, 1, 2] "C0011100aaaaddddbbbb0101cccccccc" {};
    Ldz16Mmmn "ldz16_mmmn" "ldz16" [] Main Common [coissue load]
        (Use M, Use M, Use M, Def M) [3, 0, 1, 2] "C1001101aaaaccccbbbb0001dddd0100" {};
    Ldz16MmmnZi "ldz16_mmmn_zi" "ldz16" [] Main Common [coissue load]
        (Use M, Use M, Use Zimm(12), Def M) [3, 0, 1, 2] "C0000110aaaaddddbbbbcccccccccccc" {};
    Ldz16stepMmmn "ldz16step_mmmn" "ldz16step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use M, Def M) [3, 0, 1, 2] "C1000111aaaaccccbbbb0110dddd0000" {};
    Ldz16stepMmmnSi "ldz16step_mmmn_si" "ldz16step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def M) [3, 0, 1, 2] "C0011100aaaaddddbbbb0110cccccccc" {};
    Ldz8Mmmn "ldz8_mmmn" "ldz8" [] Main Common [coissue load]
        (Use M, Use M, Use M, Def M) [3, 0, 1, 2] "C1001101aaaaccccbbbb0001dddd0101" {};
    Ldz8MmmnZi "ldz8_mmmn_zi" "ldz8" [] Main Common [coissue load]
        (Use M, Use M, Use Zimm(12), Def M) [3, 0, 1, 2] "C0000111aaaaddddbbbbcccccccccccc" {};
    Ldz8stepMmmn "ldz8step_mmmn" "ldz8step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use M, Def M) [3, 0, 1, 2] "C1000111aaaaccccbbbb0111dddd0000" {};
    Ldz8stepMmmnSi "ldz8step_mmmn_si" "ldz8step" [] Main Common [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def M) [3, 0, 1, 2] "C0011100aaaaddddbbbb0111cccccccc" {};
    MaxMmmn "max_mmmn" "max" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0010aaaa0010" {};
    MaxMmmnSi "max_mmmn_si" "max" ["maxs"] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 1, 2] "C0110000bbbbaaaacccccccccccccccc" {};
    MaxMmmnZi "max_mmmn_zi" "max" ["maxz"] Main Common [coissue]
        (Def M, Use M, Use Zimm(16)) [0, 1, 2] "C0101110bbbbaaaacccccccccccccccc" {};
    MinMmmn "min_mmmn" "min" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0010aaaa0011" {};
    MinMmmnSi "min_mmmn_si" "min" ["mins"] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 1, 2] "C0110011bbbbaaaacccccccccccccccc" {};
    MinMmmnZi "min_mmmn_zi" "min" ["minz"] Main Common [coissue]
        (Def M, Use M, Use Zimm(16)) [0, 1, 2] "C0110001bbbbaaaacccccccccccccccc" {};
    MovzMmmn "movz_mmmn" "movz" ["movnz"] Main Common [coissue]
        (Use M, DefUse M, Use M) [1, 0, 2] "C1000111aaaaccccbbbb101000000000" {};
    MulMmmn "mul_mmmn" "mul" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0011aaaa0000" {};
    MulMmmnSi "mul_mmmn_si" "mul" [] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 1, 2] "C0110110bbbbaaaacccccccccccccccc" {};
    OrMmmn "or_mmmn" "or" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0011aaaa0001" {};
    OrMmmnIz "or_mmmn_iz" "or" [] Main Common [coissue]
        (Def M, Use M, Use Immz12) [0, 1, 2] "C1000010bbbbaaaa1100cccccccccccc" {};
    OrMmmnZi "or_mmmn_zi" "or" [] Main Common [coissue]
        (Def M, Use M, Use Zimm(12)) [0, 1, 2] "C1000010bbbbaaaa1001cccccccccccc" {};
    PopcMmmn "popc_mmmn" "popc" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000000110000aaaa0000" {};
    PutMmmnZi "put_mmmn_zi" "put" [] Main Common [coissue system]
        (Use M, Use Zimm(8)) [1, 0] "C1000011aaaa000010000000bbbbbbbb" {};
    Roll16Mmmn "roll16_mmmn" "roll16" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0011aaaa0010" {};
    Roll8lMmmn "roll8l_mmmn" "roll8l" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0011aaaa0011" {};
    Roll8rMmmn "roll8r_mmmn" "roll8r" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0100aaaa0000" {};
    SetziMmmnZi "setzi_mmmn_zi" "setzi" [] Main Common [coissue]
        (Def M, Use Rel20) [0, 1] "C0011001aaaabbbbbbbbbbbbbbbbbbbb" {};
    ShlMmmn "shl_mmmn" "shl" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0100aaaa0001" {};
    ShlMmmnZi "shl_mmmn_zi" "shl" [] Main Common [coissue]
        (Def M, Use M, Use Zimm(12)) [0, 1, 2] "C1000010bbbbaaaa1010cccccccccccc" {};
    ShrMmmn "shr_mmmn" "shr" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0100aaaa0010" {};
    ShrMmmnZi "shr_mmmn_zi" "shr" [] Main Common [coissue]
        (Def M, Use M, Use Zimm(12)) [0, 1, 2] "C1000010bbbbaaaa1101cccccccccccc" {};
    ShrsMmmn "shrs_mmmn" "shrs" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0100aaaa0011" {};
    ShrsMmmnZi "shrs_mmmn_zi" "shrs" [] Main Common [coissue]
        (Def M, Use M, Use Zimm(12)) [0, 1, 2] "C1000010bbbbaaaa1110cccccccccccc" {};
    Shuf8x8hiMmmn "shuf8x8hi_mmmn" "shuf8x8hi" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0101aaaa0000" {};
    Shuf8x8loMmmn "shuf8x8lo_mmmn" "shuf8x8lo" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0101aaaa0001" {};
    Sort4x16hiMmmn "sort4x16hi_mmmn" "sort4x16hi" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0101aaaa0010" {};
    Sort4x16loMmmn "sort4x16lo_mmmn" "sort4x16lo" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0101aaaa0011" {};
    Sort8Mmmn "sort8_mmmn" "sort8" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000001000000aaaa0000" {};
    Sort8x8hiMmmn "sort8x8hi_mmmn" "sort8x8hi" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0110aaaa0000" {};
    Sort8x8loMmmn "sort8x8lo_mmmn" "sort8x8lo" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0110aaaa0001" {};
    St32MmmnZi "st32_mmmn_zi" "st32" [] Main Common [coissue store]
        (Use M, Use M, Use Zimm(12), Use M) [3, 0, 1, 2] "C1001111aaaaddddbbbbcccccccccccc" {};
    St32stepMmmnSi "st32step_mmmn_si" "st32step" [] Main Common [coissue store]
        (Use M, DefUse M Add, Use Simm(8), Use M) [3, 0, 1, 2] "C1001110aaaaddddbbbb0000cccccccc" {};
    Stm32Mmmn "stm32_mmmn" "stm32" [] Main Common [coissue store]
        (Use M, Use M, Use M) [2, 0, 1] "C1001100aaaaccccbbbb000000000000" {};
    Stm32stepMmmn "stm32step_mmmn" "stm32step" [] Main Common [coissue store]
        (Use M, DefUse M, Use M) [2, 1, 0] "C1000111aaaaccccbbbb100100000000" {};
    SubMmmn "sub_mmmn" "sub" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 2, 1] "C1000100bbbb0000cccc0110aaaa0010" {};
    SubMmmnSi "sub_mmmn_si" "sub" ["subs"] Main Common [coissue]
        (Def M, Use M, Use Simm(16)) [0, 2, 1] "C0111001bbbbaaaacccccccccccccccc" {};
    SubMmmnZi "sub_mmmn_zi" "sub" ["subz"] Main Common [coissue]
        (Def M, Use M, Use Zimm(16)) [0, 2, 1] "C0110111bbbbaaaacccccccccccccccc" {};
    Swap8Mmmn "swap8_mmmn" "swap8" [] Main Common [coissue]
        (Def M, Use M) [0, 1] "C1000010bbbb000001010000aaaa0000" {};
    TrapMmmnZi "trap_mmmn_zi" "trap" [] Main Common [coissue system]
        (Use Zimm(4)) [0] "C100000110000000000100000000aaaa" {};
    XnorMmmn "xnor_mmmn" "xnor" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0111aaaa0000" {};
    XorMmmn "xor_mmmn" "xor" [] Main Common [coissue]
        (Def M, Use M, Use M) [0, 1, 2] "C1000100bbbb0000cccc0111aaaa0001" {};
    Ld128putcsMmmnZi "ld128putcs_mmmn_zi" "ld128putcs" [] Main Supervisor [coissue load]
        (Use Zimm(8)) [0] "C10000010000000011010000aaaaaaaa" {};
    Ld64putcsMmmnZi "ld64putcs_mmmn_zi" "ld64putcs" [] Main Supervisor [coissue load]
        (Use Zimm(8)) [0] "C10000010000000011000000aaaaaaaa" {};
    RunMmmnZi "run_mmmn_zi" "run" [] Main Supervisor [system]
        (Use M, Use M, Use Run) [0, 1, 2] "00010100aaaaccccbbbbcccccccccccc" {2: [(0, 0, 12), (16, 12, 4)]};
    RunallMmmnZi "runall_mmmn_zi" "runall" [] Main Supervisor [system]
        (Use M, Use M, Use Zimm(16)) [0, 1, 2] "00010101aaaaccccbbbbcccccccccccc" {2: [(0, 0, 12), (16, 12, 4)]};
    DelayMmmnZi "delay_mmmn_zi" "delay" [] Main Supervisor [system]
        (Use Zimm(19)) [0] "0100000010100aaaaaaaaaaaaaaaaaaa" {};
    SyncMmmnZi "sync_mmmn_zi" "sync" [] Main Supervisor [system]
        (Use Zimm(4)) [0] "0100000110000000000000000000aaaa" {};
    SansMmmnZi "sans_mmmn_zi" "sans" [] Main Supervisor [system]
        (Use Zimm(19)) [0] "0100000011000aaaaaaaaaaaaaaaaaaa" {};
    SendMmmnZi "send_mmmn_zi" "send" [] Main Supervisor [system]
        (Use Zimm(6), Use Zimm(18), Use Zimm(3)) [0, 1, 2] "01111aaaaaabbbbbbbbbbbbbbbbbbccc" {};
    And64Aaan "and64_aaan" "and64" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0010" {};
    AndAaan "and_aaan" "and" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0000" {};
    AndAaanIz "and_aaan_iz" "and" [] Aux Worker [coissue]
        (Def A, Use A, Use Immz12) [0, 1, 2] "C1010010bbbbaaaa1100cccccccccccc" {};
    AndAaanZi "and_aaan_zi" "and" [] Aux Worker [coissue]
        (Def A, Use A, Use Zimm(12)) [0, 1, 2] "C1010010bbbbaaaa1000cccccccccccc" {};
    Andc64Aaan "andc64_aaan" "andc64" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0011" {};
    AndcAaan "andc_aaan" "andc" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0001" {};
    AndcAaanIz "andc_aaan_iz" "andc" [] Aux Worker [coissue]
        (Def A, Use A, Use Immz12) [0, 1, 2] "C1010010bbbbaaaa1111cccccccccccc" {};
    AndcAaanZi "andc_aaan_zi" "andc" [] Aux Worker [coissue]
        (Def A, Use A, Use Zimm(12)) [0, 1, 2] "C1010010bbbbaaaa1011cccccccccccc" {};
    AtomMamn "atom_mamn" "atom" [] Main Worker [coissue]
        (Def M, Use A) [0, 1] "C10111010000aaaa00000000bbbb0000" {};
    ExitnegMmmn "exitneg_mmmn" "exitneg" [] Main Worker [control]
        (Use M) [0] "01000011aaaa00000001000000000000" {};
    ExitnzMmmn "exitnz_mmmn" "exitnz" [] Main Worker [control]
        (Use M) [0] "01000011aaaa00000010000000000000" {};
    ExitposMmmn "exitpos_mmmn" "exitpos" [] Main Worker [control]
        (Use M) [0] "01000011aaaa00000011000000000000" {};
    ExitzMmmn "exitz_mmmn" "exitz" [] Main Worker [control]
        (Use M) [0] "01000011aaaa00000100000000000000" {};
    F16tof32Aaan "f16tof32_aaan" "f16tof32" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000000100aaaa0000" {};
    F16v2absaddAaan "f16v2absadd_aaan" "f16v2absadd" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa1101" {};
    F16v2absmaxAaan "f16v2absmax_aaan" "f16v2absmax" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 2, 1] "C1011000bbbb0000cccc0010aaaa1001" {};
    F16v2addAaal "f16v2add_aaal" "f16v2add" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0000aaaa0001" {};
    F16v2addAaan "f16v2add_aaan" "f16v2add" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa0001" {};
    F16v2addAaau "f16v2add_aaau" "f16v2add" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0000aaaa0001" {};
    F16v2clampAaan "f16v2clamp_aaan" "f16v2clamp" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0100aaaa1101" {};
    F16v2classAaan "f16v2class_aaan" "f16v2class" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000101010aaaa0000" {};
    F16v2cmacAaan "f16v2cmac_aaan" "f16v2cmac" [] Aux Worker [coissue]
        (Use A, Use A) [0, 1] "C1011010aaaa0000bbbb001100000000" {};
    F16v2cmpeqAaal "f16v2cmpeq_aaal" "f16v2cmpeq" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0000aaaa1101" {};
    F16v2cmpeqAaan "f16v2cmpeq_aaan" "f16v2cmpeq" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa1101" {};
    F16v2cmpeqAaau "f16v2cmpeq_aaau" "f16v2cmpeq" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0000aaaa1101" {};
    F16v2cmpgeAaal "f16v2cmpge_aaal" "f16v2cmpge" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa0001" {};
    F16v2cmpgeAaan "f16v2cmpge_aaan" "f16v2cmpge" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0001" {};
    F16v2cmpgeAaau "f16v2cmpge_aaau" "f16v2cmpge" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa0001" {};
    F16v2cmpgtAaal "f16v2cmpgt_aaal" "f16v2cmpgt" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa0101" {};
    F16v2cmpgtAaan "f16v2cmpgt_aaan" "f16v2cmpgt" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0101" {};
    F16v2cmpgtAaau "f16v2cmpgt_aaau" "f16v2cmpgt" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa0101" {};
    F16v2cmpleAaal "f16v2cmple_aaal" "f16v2cmple" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa1001" {};
    F16v2cmpleAaan "f16v2cmple_aaan" "f16v2cmple" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1001" {};
    F16v2cmpleAaau "f16v2cmple_aaau" "f16v2cmple" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa1001" {};
    F16v2cmpltAaal "f16v2cmplt_aaal" "f16v2cmplt" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa1101" {};
    F16v2cmpltAaan "f16v2cmplt_aaan" "f16v2cmplt" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1101" {};
    F16v2cmpltAaau "f16v2cmplt_aaau" "f16v2cmplt" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa1101" {};
    F16v2cmpneAaal "f16v2cmpne_aaal" "f16v2cmpne" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0010aaaa0001" {};
    F16v2cmpneAaan "f16v2cmpne_aaan" "f16v2cmpne" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0001" {};
    F16v2cmpneAaau "f16v2cmpne_aaau" "f16v2cmpne" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0010aaaa0001" {};
    F16v2exp2Aaan "f16v2exp2_aaan" "f16v2exp2" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000100010aaaa0000" {};
    F16v2expAaan "f16v2exp_aaan" "f16v2exp" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000110010aaaa0000" {};
    F16v2ginaAaanZi "f16v2gina_aaan_zi" "f16v2gina" [] Aux Worker [coissue]
        (Def A, Use A, Use Zimm(12)) [0, 1, 2] "C1011001bbbbaaaa0101cccccccccccc" {};
    F16v2grandAaan "f16v2grand_aaan" "f16v2grand" [] Aux Worker [coissue]
        (Def A) [0] "C10100000000000000000010aaaa0000" {};
    F16v2lnAaan "f16v2ln_aaan" "f16v2ln" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000010010aaaa0000" {};
    F16v2log2Aaan "f16v2log2_aaan" "f16v2log2" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000000010aaaa0000" {};
    F16v2maxAaan "f16v2max_aaan" "f16v2max" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0101" {};
    F16v2maxcAaan "f16v2maxc_aaan" "f16v2maxc" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001101010aaaa0000" {};
    F16v2minAaan "f16v2min_aaan" "f16v2min" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa1101" {};
    F16v2mulAaal "f16v2mul_aaal" "f16v2mul" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0011aaaa0001" {};
    F16v2mulAaan "f16v2mul_aaan" "f16v2mul" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0001" {};
    F16v2mulAaau "f16v2mul_aaau" "f16v2mul" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0011aaaa0001" {};
    F16v2sigmAaan "f16v2sigm_aaan" "f16v2sigm" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001011010aaaa0000" {};
    F16v2subAaal "f16v2sub_aaal" "f16v2sub" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0011aaaa0101" {};
    F16v2subAaan "f16v2sub_aaan" "f16v2sub" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0101" {};
    F16v2subAaau "f16v2sub_aaau" "f16v2sub" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0011aaaa0101" {};
    F16v2sufromuiAaan "f16v2sufromui_aaan" "f16v2sufromui" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001001010aaaa0000" {};
    F16v2sumAaan "f16v2sum_aaan" "f16v2sum" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001000010aaaa0000" {};
    F16v2tanhAaan "f16v2tanh_aaan" "f16v2tanh" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001010010aaaa0000" {};
    F16v2tof32Aaan "f16v2tof32_aaan" "f16v2tof32" [] Aux Worker [coissue]
        (Def APair, Use A) [0, 1] "C1010010bbbb000000010100aaaa0000" {};
    F16v2tof8Aaan "f16v2tof8_aaan" "f16v2tof8" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001101101aaaa0000" {};
    F16v4absaccAaan "f16v4absacc_aaan" "f16v4absacc" [] Aux Worker [coissue]
        (Use APair) [0] "C1011001aaaa00001000010000000000" {};
    F16v4absaddAaan "f16v4absadd_aaan" "f16v4absadd" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa1110" {};
    F16v4absmaxAaan "f16v4absmax_aaan" "f16v4absmax" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 2, 1] "C1011000bbbb0000cccc0010aaaa1010" {};
    F16v4accAaan "f16v4acc_aaan" "f16v4acc" [] Aux Worker [coissue]
        (Use APair) [0] "C1011001aaaa00001000000000000000" {};
    F16v4addAaal "f16v4add_aaal" "f16v4add" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0000aaaa0010" {};
    F16v4addAaan "f16v4add_aaan" "f16v4add" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa0010" {};
    F16v4addAaau "f16v4add_aaau" "f16v4add" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0000aaaa0010" {};
    F16v4clampAaan "f16v4clamp_aaan" "f16v4clamp" [] Aux Worker [coissue]
        (Def APair, Use APair, Use A) [0, 1, 2] "C1011000bbbb0000cccc0100aaaa1110" {};
    F16v4classAaan "f16v4class_aaan" "f16v4class" [] Aux Worker [coissue]
        (Def A, Use APair) [0, 1] "C1010010bbbb000000101110aaaa0000" {};
    F16v4cmacAaan "f16v4cmac_aaan" "f16v4cmac" [] Aux Worker [coissue]
        (Use APair, Use APair) [0, 1] "C1011010aaaa0000bbbb001000000000" {};
    F16v4cmpeqAaal "f16v4cmpeq_aaal" "f16v4cmpeq" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0000aaaa1110" {};
    F16v4cmpeqAaan "f16v4cmpeq_aaan" "f16v4cmpeq" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa1110" {};
    F16v4cmpeqAaau "f16v4cmpeq_aaau" "f16v4cmpeq" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0000aaaa1110" {};
    F16v4cmpgeAaal "f16v4cmpge_aaal" "f16v4cmpge" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa0010" {};
    F16v4cmpgeAaan "f16v4cmpge_aaan" "f16v4cmpge" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0010" {};
    F16v4cmpgeAaau "f16v4cmpge_aaau" "f16v4cmpge" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa0010" {};
    F16v4cmpgtAaal "f16v4cmpgt_aaal" "f16v4cmpgt" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa0110" {};
    F16v4cmpgtAaan "f16v4cmpgt_aaan" "f16v4cmpgt" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0110" {};
    F16v4cmpgtAaau "f16v4cmpgt_aaau" "f16v4cmpgt" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa0110" {};
    F16v4cmpleAaal "f16v4cmple_aaal" "f16v4cmple" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa1010" {};
    F16v4cmpleAaan "f16v4cmple_aaan" "f16v4cmple" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1010" {};
    F16v4cmpleAaau "f16v4cmple_aaau" "f16v4cmple" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa1010" {};
    F16v4cmpltAaal "f16v4cmplt_aaal" "f16v4cmplt" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa1110" {};
    F16v4cmpltAaan "f16v4cmplt_aaan" "f16v4cmplt" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1110" {};
    F16v4cmpltAaau "f16v4cmplt_aaau" "f16v4cmplt" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0001aaaa1110" {};
    F16v4cmpneAaal "f16v4cmpne_aaal" "f16v4cmpne" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0010aaaa0010" {};
    F16v4cmpneAaan "f16v4cmpne_aaan" "f16v4cmpne" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0010" {};
    F16v4cmpneAaau "f16v4cmpne_aaau" "f16v4cmpne" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0010aaaa0010" {};
    F16v4gaccAaan "f16v4gacc_aaan" "f16v4gacc" [] Aux Worker [coissue]
        (Def APair) [0] "C10100000000000000000100aaaa0000" {};
    F16v4hihoampAaanEf "f16v4hihoamp_aaan_ef" "f16v4hihoamp" [] Aux Worker [coissue]
        (Def A, Use APair, Use A, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb000100dddddd" {};
    F16v4hihoslicAaanEf "f16v4hihoslic_aaan_ef" "f16v4hihoslic" [] Aux Worker [coissue]
        (Def A, Use APair, Use A, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb000000dddddd" {};
    F16v4hihov4ampAaanEf "f16v4hihov4amp_aaan_ef" "f16v4hihov4amp" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb011101dddddd" {};
    F16v4hihov4slicAaanEf "f16v4hihov4slic_aaan_ef" "f16v4hihov4slic" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb011001dddddd" {};
    F16v4istaccAaanEf "f16v4istacc_aaan_ef" "f16v4istacc" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb100000dddddd" {};
    F16v4maxAaan "f16v4max_aaan" "f16v4max" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0110" {};
    F16v4maxcAaan "f16v4maxc_aaan" "f16v4maxc" [] Aux Worker [coissue]
        (Def A, Use APair) [0, 1] "C1010010bbbb000001101110aaaa0000" {};
    F16v4minAaan "f16v4min_aaan" "f16v4min" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa1110" {};
    F16v4mixAaan "f16v4mix_aaan" "f16v4mix" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa1010" {};
    F16v4mulAaal "f16v4mul_aaal" "f16v4mul" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0011aaaa0010" {};
    F16v4mulAaan "f16v4mul_aaan" "f16v4mul" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0010" {};
    F16v4mulAaau "f16v4mul_aaau" "f16v4mul" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0011aaaa0010" {};
    F16v4rmaskAaan "f16v4rmask_aaan" "f16v4rmask" [] Aux Worker [coissue]
        (Def APair, Use APair, Use A) [0, 1, 2] "C1011000bbbb0000cccc0101aaaa1010" {};
    F16v4sihoampAaanEf "f16v4sihoamp_aaan_ef" "f16v4sihoamp" [] Aux Worker [coissue absent]
        (Def A, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb010100dddddd" {};
    F16v4sihoslicAaanEf "f16v4sihoslic_aaan_ef" "f16v4sihoslic" [] Aux Worker [coissue absent]
        (Def A, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb010000dddddd" {};
    F16v4sisoampAaanEf "f16v4sisoamp_aaan_ef" "f16v4sisoamp" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb011100dddddd" {};
    F16v4sisoslicAaanEf "f16v4sisoslic_aaan_ef" "f16v4sisoslic" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb011000dddddd" {};
    F16v4staccAaanEf "f16v4stacc_aaan_ef" "f16v4stacc" [] Aux Worker [coissue]
        (Def APair, Use Zimm(8)) [0, 1] "C10100010000aaaa00001001bbbbbbbb" {};
    F16v4subAaal "f16v4sub_aaal" "f16v4sub" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastLower, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0011aaaa0110" {};
    F16v4subAaan "f16v4sub_aaan" "f16v4sub" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0110" {};
    F16v4subAaau "f16v4sub_aaau" "f16v4sub" [] Aux Worker [coissue]
        (Def APair, Use ABroadcastUpper, Use APair) [0, 1, 2] "C1011000bbbb1100cccc0011aaaa0110" {};
    F16v4sufromuiAaan "f16v4sufromui_aaan" "f16v4sufromui" [] Aux Worker [coissue]
        (Def APair, Use APair) [0, 1] "C1010010bbbb000001001110aaaa0000" {};
    F16v4sumAaan "f16v4sum_aaan" "f16v4sum" [] Aux Worker [coissue]
        (Def APair, Use APair) [0, 1] "C1010010bbbb000001000110aaaa0000" {};
    F16v8absaccAaan "f16v8absacc_aaan" "f16v8absacc" [] Aux Worker [coissue]
        (Use AQuad) [0] "C1011001aaaa00001000010100000000" {};
    F16v8accAaan "f16v8acc_aaan" "f16v8acc" [] Aux Worker [coissue]
        (Use AQuad) [0] "C1011001aaaa00001000000100000000" {};
    F16v8sqaccAaan "f16v8sqacc_aaan" "f16v8sqacc" [] Aux Worker [coissue]
        (Use AQuad) [0] "C1011001aaaa00001000100100000000" {};
    F16v8tof8Aaan "f16v8tof8_aaan" "f16v8tof8" [] Aux Worker [coissue]
        (Def APair, Use AQuad) [0, 1] "C1010010bbbb000001100110aaaa0000" {};
    F32absaddAaan "f32absadd_aaan" "f32absadd" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa1000" {};
    F32absmaxAaan "f32absmax_aaan" "f32absmax" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa1000" {};
    F32addAaan "f32add_aaan" "f32add" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa0000" {};
    F32clampAaan "f32clamp_aaan" "f32clamp" [] Aux Worker [coissue]
        (Def A, Use A, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0100aaaa1100" {};
    F32classAaan "f32class_aaan" "f32class" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000101001aaaa0000" {};
    F32cmpeqAaan "f32cmpeq_aaan" "f32cmpeq" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa1100" {};
    F32cmpgeAaan "f32cmpge_aaan" "f32cmpge" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0000" {};
    F32cmpgtAaan "f32cmpgt_aaan" "f32cmpgt" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0100" {};
    F32cmpleAaan "f32cmple_aaan" "f32cmple" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1000" {};
    F32cmpltAaan "f32cmplt_aaan" "f32cmplt" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1100" {};
    F32cmpneAaan "f32cmpne_aaan" "f32cmpne" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0000" {};
    F32divAaan "f32div_aaan" "f32div" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0101aaaa0000" {};
    F32exp2Aaan "f32exp2_aaan" "f32exp2" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000100001aaaa0000" {};
    F32expAaan "f32exp_aaan" "f32exp" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000110001aaaa0000" {};
    F32fromi32Aaan "f32fromi32_aaan" "f32fromi32" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001110000aaaa0000" {};
    F32fromui32Aaan "f32fromui32_aaan" "f32fromui32" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000000000aaaa0000" {};
    F32intAaanEf "f32int_aaan_ef" "f32int" [] Aux Worker [coissue]
        (Def A, Use A, Use Zimm(4)) [0, 1, 2] "C1010001bbbbaaaa000000000000cccc" {};
    F32lnAaan "f32ln_aaan" "f32ln" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000010001aaaa0000" {};
    F32log2Aaan "f32log2_aaan" "f32log2" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000000001aaaa0000" {};
    F32macAaan "f32mac_aaan" "f32mac" [] Aux Worker [coissue]
        (Use A, Use A) [0, 1] "C1011010aaaa0000bbbb000110000000" {};
    F32maxAaan "f32max_aaan" "f32max" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0100" {};
    F32minAaan "f32min_aaan" "f32min" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa1100" {};
    F32mulAaan "f32mul_aaan" "f32mul" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0000" {};
    F32oorxAaan "f32oorx_aaan" "f32oorx" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000001010aaaa0000" {};
    F32ooxAaan "f32oox_aaan" "f32oox" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000001011aaaa0000" {};
    F32sigmAaan "f32sigm_aaan" "f32sigm" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001011001aaaa0000" {};
    F32sisoampAaanEf "f32sisoamp_aaan_ef" "f32sisoamp" [] Aux Worker [coissue]
        (Def APair, Use A, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb111100dddddd" {};
    F32sisoslicAaanEf "f32sisoslic_aaan_ef" "f32sisoslic" [] Aux Worker [coissue]
        (Def APair, Use A, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb111000dddddd" {};
    F32sisov2ampAaanEf "f32sisov2amp_aaan_ef" "f32sisov2amp" [] Aux Worker [coissue]
        (Def APair, Use A, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb111101dddddd" {};
    F32sisov2slicAaanEf "f32sisov2slic_aaan_ef" "f32sisov2slic" [] Aux Worker [coissue]
        (Def APair, Use A, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb111001dddddd" {};
    F32sqrtAaan "f32sqrt_aaan" "f32sqrt" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001100001aaaa0000" {};
    F32subAaan "f32sub_aaan" "f32sub" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0100" {};
    F32sufromuiAaan "f32sufromui_aaan" "f32sufromui" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001001001aaaa0000" {};
    F32tanhAaan "f32tanh_aaan" "f32tanh" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001010001aaaa0000" {};
    F32tof16Aaan "f32tof16_aaan" "f32tof16" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000110101aaaa0000" {};
    F32toi32Aaan "f32toi32_aaan" "f32toi32" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001000000aaaa0000" {};
    F32toui32Aaan "f32toui32_aaan" "f32toui32" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001010000aaaa0000" {};
    F32v2absaddAaan "f32v2absadd_aaan" "f32v2absadd" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa1111" {};
    F32v2absmaxAaan "f32v2absmax_aaan" "f32v2absmax" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 2, 1] "C1011000bbbb0000cccc0010aaaa1011" {};
    F32v2addAaan "f32v2add_aaan" "f32v2add" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa0011" {};
    F32v2addAaat "f32v2add_aaat" "f32v2add" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0000aaaa0011" {};
    F32v2aopAaanEf "f32v2aop_aaan_ef" "f32v2aop" [] Aux Worker [coissue]
        (Use APair, Use APair, Use Zimm(8)) [0, 1, 2] "C1011010aaaa0000bbbb1100cccccccc" {};
    F32v2axpyAaan "f32v2axpy_aaan" "f32v2axpy" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 2, 1] "C1011000bbbb0000cccc0000aaaa1011" {};
    F32v2clampAaan "f32v2clamp_aaan" "f32v2clamp" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0100aaaa1111" {};
    F32v2classAaan "f32v2class_aaan" "f32v2class" [] Aux Worker [coissue]
        (Def A, Use APair) [0, 1] "C1010010bbbb000000101111aaaa0000" {};
    F32v2cmpeqAaan "f32v2cmpeq_aaan" "f32v2cmpeq" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0000aaaa1111" {};
    F32v2cmpeqAaat "f32v2cmpeq_aaat" "f32v2cmpeq" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0000aaaa1111" {};
    F32v2cmpgeAaan "f32v2cmpge_aaan" "f32v2cmpge" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0011" {};
    F32v2cmpgeAaat "f32v2cmpge_aaat" "f32v2cmpge" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa0011" {};
    F32v2cmpgtAaan "f32v2cmpgt_aaan" "f32v2cmpgt" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa0111" {};
    F32v2cmpgtAaat "f32v2cmpgt_aaat" "f32v2cmpgt" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa0111" {};
    F32v2cmpleAaan "f32v2cmple_aaan" "f32v2cmple" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1011" {};
    F32v2cmpleAaat "f32v2cmple_aaat" "f32v2cmple" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa1011" {};
    F32v2cmpltAaan "f32v2cmplt_aaan" "f32v2cmplt" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0001aaaa1111" {};
    F32v2cmpltAaat "f32v2cmplt_aaat" "f32v2cmplt" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0001aaaa1111" {};
    F32v2cmpneAaan "f32v2cmpne_aaan" "f32v2cmpne" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0011" {};
    F32v2cmpneAaat "f32v2cmpne_aaat" "f32v2cmpne" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0010aaaa0011" {};
    F32v2ginaAaanZi "f32v2gina_aaan_zi" "f32v2gina" [] Aux Worker [coissue]
        (Def APair, Use APair, Use Zimm(12)) [0, 1, 2] "C1011001bbbbaaaa0100cccccccccccc" {};
    F32v2grandAaan "f32v2grand_aaan" "f32v2grand" [] Aux Worker [coissue]
        (Def APair) [0] "C10100000000000000000011aaaa0000" {};
    F32v2macAaan "f32v2mac_aaan" "f32v2mac" [] Aux Worker [coissue]
        (Use APair, Use APair) [0, 1] "C1011010aaaa0000bbbb000010000000" {};
    F32v2maxAaan "f32v2max_aaan" "f32v2max" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa0111" {};
    F32v2minAaan "f32v2min_aaan" "f32v2min" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0010aaaa1111" {};
    F32v2mulAaan "f32v2mul_aaan" "f32v2mul" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0011" {};
    F32v2mulAaat "f32v2mul_aaat" "f32v2mul" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0011aaaa0011" {};
    F32v2rmaskAaan "f32v2rmask_aaan" "f32v2rmask" [] Aux Worker [coissue]
        (Def APair, Use APair, Use A) [0, 1, 2] "C1011000bbbb0000cccc0101aaaa1011" {};
    F32v2subAaan "f32v2sub_aaan" "f32v2sub" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0011aaaa0111" {};
    F32v2subAaat "f32v2sub_aaat" "f32v2sub" [] Aux Worker [coissue]
        (Def APair, Use ABroadcast, Use APair) [0, 1, 2] "C1011000bbbb1000cccc0011aaaa0111" {};
    F32v2sufromuiAaan "f32v2sufromui_aaan" "f32v2sufromui" [] Aux Worker [coissue]
        (Def APair, Use APair) [0, 1] "C1010010bbbb000001001011aaaa0000" {};
    F32v2tof16Aaan "f32v2tof16_aaan" "f32v2tof16" [] Aux Worker [coissue]
        (Def A, Use APair) [0, 1] "C1010010bbbb000001100111aaaa0000" {};
    F32v4absaccAaan "f32v4absacc_aaan" "f32v4absacc" [] Aux Worker [coissue]
        (Use AQuad) [0] "C1011001aaaa00001000011000000000" {};
    F32v4accAaan "f32v4acc_aaan" "f32v4acc" [] Aux Worker [coissue]
        (Use AQuad) [0] "C1011001aaaa00001000001000000000" {};
    F32v4sqaccAaan "f32v4sqacc_aaan" "f32v4sqacc" [] Aux Worker [coissue]
        (Use AQuad) [0] "C1011001aaaa00001000101000000000" {};
    F32v4tof16Aaan "f32v4tof16_aaan" "f32v4tof16" [] Aux Worker [coissue]
        (Def APair, Use AQuad) [0, 1] "C1010010bbbb000001100101aaaa0000" {};
    F8v2tof16Aaan "f8v2tof16_aaan" "f8v2tof16" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001101100aaaa0000" {};
    F8v4classAaan "f8v4class_aaan" "f8v4class" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000000101011aaaa0000" {};
    F8v4tof16Aaan "f8v4tof16_aaan" "f8v4tof16" [] Aux Worker [coissue]
        (Def APair, Use A) [0, 1] "C1010010bbbb000001101000aaaa0000" {};
    F8v8hihov4ampAaanEf "f8v8hihov4amp_aaan_ef" "f8v8hihov4amp" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb100101dddddd" {};
    F8v8hihov4slicAaanEf "f8v8hihov4slic_aaan_ef" "f8v8hihov4slic" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair, Use Zimm(6)) [0, 1, 2, 3] "C1011011ccccaaaabbbb101001dddddd" {};
    Ld128Mman "ld128_mman" "ld128" [] Main Worker [coissue load]
        (Use M, Use M, Use M, Def AQuad) [3, 0, 1, 2] "C1001101aaaaccccbbbb1000dddd0101" {};
    Ld128MmanZi "ld128_mman_zi" "ld128" [] Main Worker [coissue load]
        (Use M, Use M, Use Zimm(12), Def AQuad) [3, 0, 1, 2] "C0001011aaaaddddbbbbcccccccccccc" {};
    Ld128stepMmbn "ld128step_mmbn" "ld128step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use M, Def AQuad) [3, 0, 1, 2] "C1000111aaaaccccbbbb0010dddd0011" {};
    Ld128stepMmbnSi "ld128step_mmbn_si" "ld128step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def AQuad) [3, 0, 1, 2] "C0011110aaaaddddbbbb1010cccccccc" {};
    Ld2x64paceMmbnEf "ld2x64pace_mmbn_ef" "ld2x64pace" [] Main Worker [coissue load]
        (Use M, DefUse MPair Add, Def APair, Def APair, Use Zimm(4)) [2, 3, 1, 0, 4] "C1000110aaaaccccbbbb0000ddddeeee" {};
    Ld2xst64paceMbbnEf "ld2xst64pace_mbbn_ef" "ld2xst64pace" [] Main Worker [coissue load store]
        (Use M, DefUse MPair Add, Def AQuad, Use APair, Use Zimm(6)) [2, 3, 1, 0, 4] "C1010110aaaaccc0bbbb10eeddddeeee" {2: [(17, 1, 3)]; 4: [(0, 0, 4), (8, 4, 2)]};
    Ld32Mman "ld32_mman" "ld32" [] Main Worker [coissue load]
        (Use M, Use M, Use M, Def A) [3, 0, 1, 2] "C1001101aaaaccccbbbb1000dddd0000" {};
    Ld32MmanZi "ld32_mman_zi" "ld32" [] Main Worker [coissue load]
        (Use M, Use M, Use Zimm(12), Def A) [3, 0, 1, 2] "C0001000aaaaddddbbbbcccccccccccc" {};
    Ld32stepMmbn "ld32step_mmbn" "ld32step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use M, Def A) [3, 0, 1, 2] "C1000111aaaaccccbbbb0001dddd0001" {};
    Ld32stepMmbnSi "ld32step_mmbn_si" "ld32step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def A) [3, 0, 1, 2] "C0011110aaaaddddbbbb0001cccccccc" {};
    Ld64Mman "ld64_mman" "ld64" [] Main Worker [coissue load]
        (Use M, Use M, Use M, Def APair) [3, 0, 1, 2] "C1001101aaaaccccbbbb1000dddd0001" {};
    Ld64MmanZi "ld64_mman_zi" "ld64" [] Main Worker [coissue load]
        (Use M, Use M, Use Zimm(12), Def APair) [3, 0, 1, 2] "C0001001aaaaddddbbbbcccccccccccc" {};
    Ld64a32Mmbn "ld64a32_mmbn" "ld64a32" [] Main Worker [coissue load]
        (Use M, DefUse M Inc, Use M, Def AQuad) [3, 1, 0, 2] "C1000111aaaaccccbbbb0111dddd0011" {};
    Ld64a32paceMmbnEf "ld64a32pace_mmbn_ef" "ld64a32pace" [] Main Worker [coissue load]
        (Use M, DefUse MPair Add, Def APair, Def A, Use Zimm(4)) [2, 3, 1, 0, 4] "C1000110aaaaccccbbbb0011ddddeeee" {};
    Ld64b16paceMmbnEf "ld64b16pace_mmbn_ef" "ld64b16pace" [] Main Worker [coissue load]
        (Use M, DefUse MPair Add, Def APair, Def A, Use Zimm(4)) [2, 3, 1, 0, 4] "C1000110aaaaccccbbbb0010ddddeeee" {};
    Ld64stepMmbn "ld64step_mmbn" "ld64step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use M, Def APair) [3, 0, 1, 2] "C1000111aaaaccccbbbb0010dddd0001" {};
    Ld64stepMmbnSi "ld64step_mmbn_si" "ld64step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def APair) [3, 0, 1, 2] "C0011110aaaaddddbbbb0010cccccccc" {};
    Ldb16Mman "ldb16_mman" "ldb16" [] Main Worker [coissue load]
        (Use M, Use M, Use M, Def A) [3, 0, 1, 2] "C1001101aaaaccccbbbb1001dddd0100" {};
    Ldb16MmanZi "ldb16_mman_zi" "ldb16" [] Main Worker [coissue load]
        (Use M, Use M, Use Zimm(12), Def A) [3, 0, 1, 2] "C0001110aaaaddddbbbbcccccccccccc" {};
    Ldb16b16Mmbn "ldb16b16_mmbn" "ldb16b16" [] Main Worker [coissue load]
        (Use M, DefUse M Shift, DefUse M Inc, Def APair) [3, 0, 2, 1] "C1000101aaaaccccbbbb1001dddd0000" {};
    Ldb16stepMmbn "ldb16step_mmbn" "ldb16step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use M, Def A) [3, 0, 1, 2] "C1000111aaaaccccbbbb0110dddd0001" {};
    Ldb16stepMmbnSi "ldb16step_mmbn_si" "ldb16step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def A) [3, 0, 1, 2] "C0011110aaaaddddbbbb0110cccccccc" {};
    Ldb8Mman "ldb8_mman" "ldb8" [] Main Worker [coissue load]
        (Use M, Use M, Use M, Def A) [3, 0, 1, 2] "C1001101aaaaccccbbbb0000dddd1100" {};
    Ldb8MmanZi "ldb8_mman_zi" "ldb8" [] Main Worker [coissue load]
        (Use M, Use M, Use Zimm(12), Def A) [3, 0, 1, 2] "C0000010aaaaddddbbbbcccccccccccc" {};
    Ldb8stepMmbn "ldb8step_mmbn" "ldb8step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use M, Def A) [3, 0, 1, 2] "C1000111aaaaccccbbbb0111dddd0001" {};
    Ldb8stepMmbnSi "ldb8step_mmbn_si" "ldb8step" [] Main Worker [coissue load]
        (Use M, DefUse M Add, Use Simm(8), Def A) [3, 0, 1, 2] "C0011110aaaaddddbbbb0111cccccccc" {};
    Ldd16a32Mmbn "ldd16a32_mmbn" "ldd16a32" [] Main Worker [coissue load]
        (Use M, DefUse M Inc, DefUse M At, Def A) [3, 1, 0, 2] "C1000101aaaaccccbbbb1010dddd0000" {};
    Ldd16a64Mmbn "ldd16a64_mmbn" "ldd16a64" [] Main Worker [coissue load]
        (Use M, DefUse M Inc, DefUse M At, Def APair) [3, 1, 0, 2] "C1000101aaaaccccbbbb1011dddd0000" {};
    Ldd16b16Mmbn "ldd16b16_mmbn" "ldd16b16" [] Main Worker [coissue load]
        (Use M, DefUse M Inc, DefUse M At, Def A) [3, 1, 0, 2] "C1000101aaaaccccbbbb1100dddd0000" {};
    Ldd16v2a32Mmbn "ldd16v2a32_mmbn" "ldd16v2a32" [] Main Worker [coissue load]
        (Use M, DefUse M Inc, DefUse M At, Def A) [3, 1, 0, 2] "C1000101aaaaccccbbbb1000dddd0000" {};
    Ldst64paceMbbnEf "ldst64pace_mbbn_ef" "ldst64pace" [] Main Worker [coissue load store]
        (Use M, DefUse MPair Add, Def APair, Use APair, Use Zimm(4)) [2, 3, 1, 0, 4] "C1010110aaaaccccbbbb0001ddddeeee" {};
    Not64Aaan "not64_aaan" "not64" [] Aux Worker [coissue]
        (Def APair, Use APair) [0, 1] "C1010010bbbb000001111001aaaa0000" {};
    NotAaan "not_aaan" "not" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001111000aaaa0000" {};
    Or64Aaan "or64_aaan" "or64" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc1110aaaa0001" {};
    OrAaan "or_aaan" "or" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc1110aaaa0000" {};
    OrAaanIz "or_aaan_iz" "or" [] Aux Worker [coissue]
        (Def A, Use A, Use Immz12) [0, 1, 2] "C1010010bbbbaaaa1101cccccccccccc" {};
    OrAaanZi "or_aaan_zi" "or" [] Aux Worker [coissue]
        (Def A, Use A, Use Zimm(12)) [0, 1, 2] "C1010010bbbbaaaa1001cccccccccccc" {};
    Roll16Aaan "roll16_aaan" "roll16" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0100" {};
    Roll32Aaan "roll32_aaan" "roll32" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0111" {};
    Roll8lAaan "roll8l_aaan" "roll8l" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0101" {};
    Roll8rAaan "roll8r_aaan" "roll8r" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa0110" {};
    RptMmmnZi "rpt_mmmn_zi" "rpt" [] Main Worker [coissue control]
        (Use M, Use RptBody) [0, 1] "C1000011aaaa000010100000bbbbbbbb" {};
    RptMmmnZiZi "rpt_mmmn_zi_zi" "rpt" [] Main Worker [coissue control]
        (Use Zimm(12), Use RptBody) [0, 1] "C10000000000aaaaaaaaaaaabbbbbbbb" {};
    SetziAaanZi "setzi_aaan_zi" "setzi" [] Aux Worker [coissue]
        (Def A, Use Rel20) [0, 1] "C0011010aaaabbbbbbbbbbbbbbbbbbbb" {};
    Shuf8x8hiAaan "shuf8x8hi_aaan" "shuf8x8hi" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc1000aaaa0000" {};
    Shuf8x8loAaan "shuf8x8lo_aaan" "shuf8x8lo" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc1000aaaa0001" {};
    Sort4x16hiAaal "sort4x16hi_aaal" "sort4x16hi" [] Aux Worker [coissue]
        (Def A, Use ABroadcastLower, Use A) [0, 1, 2] "C1011000bbbb1000cccc0110aaaa1000" {};
    Sort4x16hiAaan "sort4x16hi_aaan" "sort4x16hi" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa1000" {};
    Sort4x16loAaan "sort4x16lo_aaan" "sort4x16lo" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa1100" {};
    Sort4x16loAaau "sort4x16lo_aaau" "sort4x16lo" [] Aux Worker [coissue]
        (Def A, Use ABroadcastUpper, Use A) [0, 1, 2] "C1011000bbbb1100cccc0110aaaa1100" {};
    Sort4x32hiAaan "sort4x32hi_aaan" "sort4x32hi" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa1011" {};
    Sort4x32loAaan "sort4x32lo_aaan" "sort4x32lo" [] Aux Worker [coissue]
        (Def APair, Use APair, Use APair) [0, 1, 2] "C1011000bbbb0000cccc0110aaaa1111" {};
    Sort8Aaan "sort8_aaan" "sort8" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001111011aaaa0000" {};
    Sort8x8hiAaan "sort8x8hi_aaan" "sort8x8hi" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc1000aaaa0010" {};
    Sort8x8loAaan "sort8x8lo_aaan" "sort8x8lo" [] Aux Worker [coissue]
        (Def A, Use A, Use A) [0, 1, 2] "C1011000bbbb0000cccc1000aaaa0011" {};
    St32Mbmn "st32_mbmn" "st32" [] Main Worker [coissue store]
        (Use M, Use M, Use M, Use A) [3, 0, 1, 2] "C1010100aaaaccccbbbb0000dddd0000" {};
    St32MbmnZi "st32_mbmn_zi" "st32" [] Main Worker [coissue store]
        (Use M, Use M, Use Zimm(12), Use A) [3, 0, 1, 2] "C1011110aaaaccccbbbbccccddddcccc" {2: [(8, 8, 4), (16, 4, 4), (0, 0, 4)]};
    St32stepMbmn "st32step_mbmn" "st32step" [] Main Worker [coissue store]
        (Use M, DefUse M Add, Use M, Use A) [3, 0, 1, 2] "C1010101aaaaccccbbbb0000dddd0000" {};
    St32stepMbmnSi "st32step_mbmn_si" "st32step" [] Main Worker [coissue store]
        (Use M, DefUse M Add, Use Simm(8), Use A) [3, 0, 1, 2] "C1011100aaaaccccbbbb0000ddddcccc" {2: [(16, 0, 4), (0, 4, 4)]};
    St64Mbmn "st64_mbmn" "st64" [] Main Worker [coissue store]
        (Use M, Use M, Use M, Use APair) [3, 0, 1, 2] "C1010100aaaaccccbbbb0001dddd0000" {};
    St64MbmnZi "st64_mbmn_zi" "st64" [] Main Worker [coissue store]
        (Use M, Use M, Use Zimm(12), Use APair) [3, 0, 1, 2] "C1011111aaaaccccbbbbccccddddcccc" {2: [(8, 8, 4), (16, 4, 4), (0, 0, 4)]};
    St64paceMbmnEf "st64pace_mbmn_ef" "st64pace" [] Main Worker [coissue store]
        (Use M, DefUse MPair Add, Use Zimm(8), Use APair) [3, 1, 0, 2] "C1011100aaaaccccbbbb0010ddddcccc" {2: [(16, 0, 4), (0, 4, 4)]};
    St64stepMbmn "st64step_mbmn" "st64step" [] Main Worker [coissue store]
        (Use M, DefUse M Add, Use M, Use APair) [3, 0, 1, 2] "C1010101aaaaccccbbbb0001dddd0000" {};
    St64stepMbmnSi "st64step_mbmn_si" "st64step" [] Main Worker [coissue store]
        (Use M, DefUse M Add, Use Simm(8), Use APair) [3, 0, 1, 2] "C1011100aaaaccccbbbb0001ddddcccc" {2: [(16, 0, 4), (0, 4, 4)]};
    Swap8Aaan "swap8_aaan" "swap8" [] Aux Worker [coissue]
        (Def A, Use A) [0, 1] "C1010010bbbb000001111100aaaa0000" {};
    TapackMmmn "tapack_mmmn" "tapack" [] Main Worker [coissue]
        (Use M, Use M, Use M, Def MPair) [3, 0, 1, 2] "C1001101aaaaccccbbbb0000dddd0001" {};
    UgetAaanZi "uget_aaan_zi" "uget" [] Aux Worker [coissue system]
        (Def A, Use Zimm(8)) [0, 1] "C10100010000aaaa00001000bbbbbbbb" {};
    UputAaanZi "uput_aaan_zi" "uput" [] Aux Worker [coissue system]
        (Use A, Use Zimm(8)) [1, 0] "C1010001aaaa000010000000bbbbbbbb" {};
    Urand32Aaan "urand32_aaan" "urand32" [] Aux Worker [coissue]
        (Def A) [0] "C10100000000000000000000aaaa0000" {};
    Urand64Aaan "urand64_aaan" "urand64" [] Aux Worker [coissue]
        (Def APair) [0] "C10100000000000000000001aaaa0000" {};
    DelayPic "delaypic" "delaypic" [] Main Supervisor [system]
        (Use Zimm(7), Use Zimm(1), Use Zimm(18)) [0, 1, 2] "011000aaaaaaabcccccccccccccccccc" {};
    DelayXpic "delayxpic" "delayxpic" [] Main Supervisor [system]
        (Use Zimm(12), Use Zimm(1), Use Zimm(13)) [0, 1, 2] "011001aaaaaaaaaaaabccccccccccccc" {};
    SendOff "sendoff" "sendoff" [] Main Supervisor [system]
        (Use Zimm(12), Use Zimm(11), Use Zimm(3)) [0, 1, 2] "01110aaaaaa0aaaaaabbbbbbbbbbbccc" {0: [(21, 0, 6), (14, 6, 6)]};
    SendPic "sendpic" "sendpic" [] Main Supervisor [system]
        (Use Zimm(6), Use Zimm(2), Use Zimm(18)) [0, 1, 2] "01110aaaaaa1bbcccccccccccccccccc" {};
    SendPicP "sendpicp" "sendpicp" [] Main Supervisor [system]
        (Use Zimm(1), Use Zimm(6), Use Zimm(18), Use Zimm(3), Use Zimm(14), Use Zimm(18)) [0, 1, 2, 3, 4, 5] "1111abbbbbbccccccccccccccccccddd" {};
}

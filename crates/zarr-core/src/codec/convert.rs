//! How is a chain said in another dialect?
//!
//! v2 and the drafts: optional transpose, `bytes`, then filters and a compressor on bytes. Final v3:
//! any chain. Filters that final v3 knows as array codecs are lifted before `bytes` where nothing
//! stands between (DECISIONS 14, Z2-090).

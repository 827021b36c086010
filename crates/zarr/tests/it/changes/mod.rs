//! What the tests share that cut a writer off: a sequence of changes that a seed gives, the hierarchy after each, and what may be there
//! while one is being made.

#![cfg(all(feature = "filesystem", feature = "sharding", feature = "crc32c"))]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use zarr::{Dialect, ErrorKind, Hierarchy, Object, OpenOptions};
use zarr_example_extension::OffsetGrid;

pub const FILL: i32 = -1;

/// An array without checksums, one of shards, and one that grows at both ends and has checksums.
pub const ARRAYS: [&str; 3] = ["/a", "/s", "/p"];

/// Elements of a chunk of each array; in a shard are four.
const CHUNK: u64 = 10;

/// The longest that an array becomes.
const LONGEST: u64 = 160;

/// A change of an array, by its place in [`ARRAYS`], or of the hierarchy.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Create(usize),
    Write(usize, Range<u64>, i32),
    Append(usize, u64, i32),
    Prepend(u64, i32),
    Resize(usize, u64),
    Erase(usize),
    Attributes(usize, i64),
    GroupAttributes(i64),
    Flush,
}

impl Change {
    /// Its kind, as figures name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::Create(_) => "create",
            Change::Write(..) => "write",
            Change::Append(..) => "append",
            Change::Prepend(..) => "prepend",
            Change::Resize(..) => "resize",
            Change::Erase(_) => "erase",
            Change::Attributes(..) | Change::GroupAttributes(_) => "attributes",
            Change::Flush => "flush",
        }
    }

    fn array(&self) -> Option<usize> {
        match *self {
            Change::Create(n) | Change::Erase(n) => Some(n),
            Change::Write(n, ..) | Change::Append(n, ..) => Some(n),
            Change::Resize(n, _) | Change::Attributes(n, _) => Some(n),
            Change::Prepend(..) => Some(2),
            Change::GroupAttributes(_) | Change::Flush => None,
        }
    }
}

/// An array as its reader sees it.
#[derive(Clone, PartialEq)]
pub struct Elements {
    pub elements: Vec<i32>,
    pub attribute: i64,
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={} {:?}", self.attribute, self.elements)
    }
}

/// A hierarchy as its reader sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub attribute: i64,
    pub arrays: BTreeMap<&'static str, Elements>,
}

/// Random numbers, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    /// One below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// The changes of a seed, without an end.
pub struct Changes {
    random: Random,
    flush_every: i32,
    made: i32,
    pub seen: Seen,
}

impl Changes {
    /// Every few changes, as many as `flush_every`, one is a flush of the store.
    pub fn new(seed: u64, flush_every: i32) -> Changes {
        Changes { random: Random::new(seed), flush_every, made: 0, seen: Seen::default() }
    }

    fn choose(&mut self) -> Change {
        self.made += 1;
        let value = self.made;
        if self.made % self.flush_every == 0 {
            return Change::Flush;
        }
        let random = &mut self.random;
        let n = random.below(ARRAYS.len() as u64) as usize;
        let Some(array) = self.seen.arrays.get(ARRAYS[n]) else { return Change::Create(n) };
        let len = array.elements.len() as u64;
        let room = LONGEST.saturating_sub(len);
        match random.below(20) {
            0..8 if len > 0 => {
                let start = random.below(len);
                Change::Write(n, start..start + 1 + random.below(len - start), value)
            }
            8..12 if room > 0 => Change::Append(n, 1 + random.below(room.min(50)), value),
            12..14 if room > 0 && n == 2 => Change::Prepend(1 + random.below(room.min(50)), value),
            14..16 => Change::Resize(n, random.below(LONGEST)),
            16 => Change::Erase(n),
            17 => Change::GroupAttributes(value.into()),
            _ => Change::Attributes(n, value.into()),
        }
    }
}

impl Iterator for Changes {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        let change = self.choose();
        self.seen.change(&change);
        Some(change)
    }
}

impl Seen {
    /// What is seen once the change is made.
    pub fn change(&mut self, change: &Change) {
        if let Change::GroupAttributes(value) = change {
            self.attribute = *value;
        }
        let Some(name) = change.array().map(|n| ARRAYS[n]) else { return };
        if let Change::Create(_) = change {
            let elements = vec![FILL; 3 * CHUNK as usize];
            self.arrays.insert(name, Elements { elements, attribute: 0 });
        }
        if let Change::Erase(_) = change {
            self.arrays.remove(name);
        }
        let Some(array) = self.arrays.get_mut(name) else { return };
        match change {
            Change::Write(_, region, value) => {
                array.elements[region.start as usize..region.end as usize].fill(*value);
            }
            Change::Append(_, count, value) => {
                array.elements.extend(vec![*value; *count as usize]);
            }
            Change::Prepend(count, value) => {
                array.elements.splice(0..0, vec![*value; *count as usize]);
            }
            Change::Resize(_, len) => array.elements.resize(*len as usize, FILL),
            Change::Attributes(_, value) => array.attribute = *value,
            _ => {}
        }
    }

    /// The hierarchy that a reader opens. An array whose document is absent is not there; all else that keeps one from being
    /// read is a broken promise.
    pub fn read(url: &str) -> Result<Seen, String> {
        Seen::of(&options().store_hierarchy(url)?)
    }

    pub fn of(hierarchy: &Hierarchy) -> Result<Seen, String> {
        let told = |e: zarr::Error| e.to_string();
        let number = |json: Option<&zarr::Json>| {
            json.and_then(zarr::Json::as_u64).and_then(|n| i64::try_from(n).ok()).unwrap_or(0)
        };
        let root = hierarchy.root().map_err(told)?;
        let mut seen = Seen { attribute: number(root.attributes().get("n")), ..Seen::default() };
        for name in ARRAYS {
            let array = match hierarchy.array(name) {
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                array => array.map_err(told)?,
            };
            let elements = array.read::<i32>(..).map_err(told)?;
            let attribute = number(array.attributes().get("n"));
            seen.arrays.insert(name, Elements { elements, attribute });
        }
        Ok(seen)
    }

    /// Whether this may be seen while `change` is made to `before`; else what breaks which promise.
    pub fn may_be(&self, before: &Seen, change: &Change) -> Result<(), String> {
        let mut after = before.clone();
        after.change(change);
        if self.attribute != before.attribute && self.attribute != after.attribute {
            return Err(format!("the group's attribute is {}", self.attribute));
        }
        for (n, name) in ARRAYS.into_iter().enumerate() {
            let [is, was, will] = [self, before, &after].map(|seen| seen.arrays.get(name));
            if is == was || is == will {
                continue;
            }
            let broken = |why: &str| {
                Err(format!("{name}: {why}\n  is {is:?}\n  was {was:?}\n  may become {will:?}"))
            };
            let (Some(is), Some(was), Some(will)) = (is, was, will) else {
                return broken("it is neither as before nor as after");
            };
            if change.array() != Some(n) || is.attribute != was.attribute {
                return broken("it is not the one that changes");
            }
            // Elements that were there have their old value or their new one; those of the new place may be fill.
            let grown = will.elements.len() - was.elements.len().min(will.elements.len());
            let place = match change {
                Change::Append(..) => was.elements.len()..will.elements.len(),
                Change::Prepend(..) => 0..grown,
                Change::Write(..) => 0..0,
                _ => return broken("this change is made at once or not at all"),
            };
            if is.elements.len() != will.elements.len() {
                return broken("its length is neither the old one nor the new one");
            }
            for (at, &value) in is.elements.iter().enumerate() {
                let old = match change {
                    Change::Write(..) => Some(was.elements[at]),
                    _ => place.contains(&at).then_some(FILL),
                };
                if value != will.elements[at] && Some(value) != old {
                    return broken(&format!("element {at} is neither old nor new"));
                }
            }
        }
        Ok(())
    }
}

/// Readers and writers know the grid of `/p`.
pub struct Options(pub OpenOptions);

pub fn options() -> Options {
    Options(OpenOptions::new(zarr::standard().with(zarr_example_extension::register)).read_write())
}

impl Options {
    pub fn store_hierarchy(&self, url: &str) -> Result<Hierarchy, String> {
        let node = zarr::open_with(url, &self.0).map_err(|e| e.to_string())?;
        Ok(node.hierarchy().clone())
    }
}

/// Makes an empty hierarchy.
pub fn begin(url: &str, options: &OpenOptions) -> zarr::Result<Hierarchy> {
    let hierarchy = zarr::create_with(url, Dialect::V3, options)?;
    hierarchy.create_group("/", Object::new())?;
    hierarchy.flush()?;
    Ok(hierarchy)
}

/// Makes the change.
pub fn make(hierarchy: &Hierarchy, change: &Change) -> zarr::Result<()> {
    let array = |n: usize| hierarchy.array(ARRAYS[n]);
    match change {
        Change::Create(n) => {
            let new = hierarchy.create_array(ARRAYS[*n].parse::<zarr::NodePath>()?);
            let new = new.shape(&[3 * CHUNK]).data_type_named("int32").fill_value(i64::from(FILL));
            let new = match n {
                0 => new.chunks(&[CHUNK]),
                1 => new.chunks(&[CHUNK]).shards(&[4 * CHUNK]),
                _ => {
                    let grid = OffsetGrid::new(&[CHUNK], &[0], &[3 * CHUNK]);
                    new.grid(Arc::new(grid?)).codec(zarr::tools::codec("crc32c")?)
                }
            };
            new.create().map(drop)
        }
        Change::Write(n, region, value) => {
            let len = (region.end - region.start) as usize;
            array(*n)?.write(region.clone(), &vec![*value; len])
        }
        Change::Append(n, count, value) => {
            array(*n)?.append(0, &vec![*value; *count as usize]).map(drop)
        }
        Change::Prepend(count, value) => array(2)?.prepend(0, &vec![*value; *count as usize]),
        Change::Resize(n, len) => array(*n)?.resize(&[*len]),
        Change::Erase(n) => hierarchy.erase(ARRAYS[*n]),
        Change::Attributes(n, value) => {
            let set = |all: &mut zarr::Object| drop(all.insert("n", *value as u64));
            array(*n)?.update_attributes(set).map(drop)
        }
        Change::GroupAttributes(value) => {
            let set = |all: &mut zarr::Object| drop(all.insert("n", *value as u64));
            hierarchy.root()?.update_attributes(set).map(drop)
        }
        Change::Flush => hierarchy.flush(),
    }
}

//! Reads what OME-Zarr says of a plate and of its wells: rows and columns, fields, acquisitions.
//!
//! A plate is a group with the attribute `plate`, in 0.5 below `ome`. It lists its wells, each of which is a group with the attribute
//! `well`, which lists its fields: groups that are images.

use zarr_core::runtime::Parallel;
use zarr_core::{CancelToken, ErrorKind, Group, Json, Object, Result};

use super::missing::items;
use super::ome::inner;
use super::text;

/// Of more wells, fields of a well, or acquisitions, only these are read: plates have up to 3,456 wells.
const MAX_LISTED: usize = 1 << 14;
/// How many wells are opened at the same time: in stores that are far each takes a request.
const OPENED_TOGETHER: usize = 16;

/// Wells in rows and columns, each of which has images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plate {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The names of its rows, the first at the top.
    pub rows: Vec<String>,
    /// The names of its columns, the first at the left.
    pub columns: Vec<String>,
    /// The wells that have images.
    pub wells: Vec<PlateWell>,
    /// When its images were made, if it says so.
    pub acquisitions: Vec<Acquisition>,
    /// The most fields that a well has, if it says so.
    pub field_count: Option<u64>,
}

/// A well of a plate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlateWell {
    /// The path of its group from that of the plate.
    pub path: String,
    /// Its place among the rows.
    pub row: usize,
    /// Its place among the columns.
    pub column: usize,
}

/// Images of a plate that were made together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// What fields call it.
    pub id: u64,
    /// What people call it.
    pub name: Option<String>,
}

/// An image of a well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The path of its group from that of the well.
    pub path: String,
    /// The acquisition that it belongs to.
    pub acquisition: Option<u64>,
}

impl PlateWell {
    /// Members `path`, `row` and `column`, for JSON.
    pub fn members(&self) -> Object {
        let path = Object::new().with("path", self.path.as_str());
        path.with("row", self.row as u64).with("column", self.column as u64)
    }
}

impl Field {
    /// An object of `path` and `acquisition`, which may be `null`.
    pub fn to_json(&self) -> Json {
        let acquisition = self.acquisition.map_or(Json::Null, Json::from);
        Object::new().with("path", self.path.as_str()).with("acquisition", acquisition).into()
    }
}

impl Plate {
    /// Members `name`, which may be `null`, `rows`, `columns` and `acquisitions`, a list of `id` and `name`, for JSON.
    pub fn members(&self) -> Object {
        let acquisitions = self.acquisitions.iter().map(|acquisition| {
            let name = acquisition.name.as_deref().map_or(Json::Null, Json::from);
            Json::from(Object::new().with("id", acquisition.id).with("name", name))
        });
        Object::new()
            .with("name", self.name.as_deref().map_or(Json::Null, Json::from))
            .with("rows", self.rows.iter().map(|row| Json::from(row.as_str())).collect::<Json>())
            .with(
                "columns",
                self.columns.iter().map(|name| Json::from(name.as_str())).collect::<Json>(),
            )
            .with("acquisitions", acquisitions.collect::<Json>())
    }

    /// The plate that a group is, if it is one. Wells that are at no row and column of the plate are left out.
    pub fn of_group(group: &Group) -> Option<Plate> {
        Plate::of_attributes(group.attributes())
    }

    fn of_attributes(attributes: &Object) -> Option<Plate> {
        let plate = inner(attributes).get("plate")?.as_object()?;
        // Others call things plates, too.
        plate.get("wells")?.as_array()?;
        let rows = names(plate.get("rows"));
        let columns = names(plate.get("columns"));
        let wells = objects(plate.get("wells")).filter_map(|json: &Object| -> Option<PlateWell> {
            let path = text(json, "path")?;
            // Version 0.3 and those before it have the path only, which is the names of the row and the column.
            let (row, column) = path.split_once('/')?;
            let row = place(json, "rowIndex", row, &rows)?;
            let column = place(json, "columnIndex", column, &columns)?;
            Some(PlateWell { path, row, column })
        });
        let wells = wells.collect();
        let acquisitions = objects(plate.get("acquisitions"))
            .filter_map(|json| {
                Some(Acquisition { id: whole(json, "id")?, name: text(json, "name") })
            })
            .collect();
        let (name, field_count) = (text(plate, "name"), whole(plate, "field_count"));
        Some(Plate { name, rows, columns, wells, acquisitions, field_count })
    }

    /// The fields of each of its wells, in the order of these; none of a well that cannot be read as a group.
    ///
    /// # Errors
    /// What the store reports; the caller cancelled.
    pub fn fields(&self, group: &Group, cancel: Option<&CancelToken>) -> Result<Vec<Vec<Field>>> {
        let together = Parallel { name: "wells", threads: OPENED_TOGETHER, cancel };
        together.map(self.wells.iter(), |well: &PlateWell| {
            let Ok(path) = group.path().join(&well.path) else { return Ok(Vec::new()) };
            match group.hierarchy().group(&path) {
                Ok(found) => Ok(fields_of_well(&found).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Store => Err(error),
                Err(_) => Ok(Vec::new()),
            }
        })
    }
}

/// The fields of a well; nothing if the group is none.
pub fn fields_of_well(group: &Group) -> Option<Vec<Field>> {
    let well = inner(group.attributes()).get("well")?.as_object()?;
    well.get("images")?.as_array()?;
    let fields = objects(well.get("images"));
    let fields = fields.filter_map(|json| {
        Some(Field { path: text(json, "path")?, acquisition: whole(json, "acquisition") })
    });
    Some(fields.collect())
}

/// The objects of a list.
fn objects(json: Option<&Json>) -> impl Iterator<Item = &Object> {
    json.map(items).unwrap_or_default().iter().take(MAX_LISTED).filter_map(Json::as_object)
}

/// The names of rows or columns. One without a name keeps its place.
fn names(json: Option<&Json>) -> Vec<String> {
    let all = json.map(items).unwrap_or_default().iter().take(MAX_LISTED);
    all.map(|json| json.as_object().and_then(|json| text(json, "name")).unwrap_or_default())
        .collect()
}

/// A whole number that is a member.
fn whole(json: &Object, name: &str) -> Option<u64> {
    json.get(name)?.as_number()?.parse().ok()
}

/// The place that a well has among rows or columns: its index, else that of the name in its path.
fn place(json: &Object, member: &str, name: &str, names: &[String]) -> Option<usize> {
    let by_index = whole(json, member).and_then(|index| usize::try_from(index).ok());
    let found = by_index.or_else(|| names.iter().position(|known| known == name));
    found.filter(|&place| place < names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plate(text: &str) -> Option<Plate> {
        let Json::Object(attributes) = Json::parse(text.as_bytes()).unwrap() else { panic!() };
        Plate::of_attributes(&attributes)
    }

    const PLATE: &str = r#""plate": {"name": "P", "field_count": 4, "rows": [{"name": "A"}, {"name": "B"}],
        "columns": [{"name": "1"}, {"name": "2"}, {"name": "3"}], "acquisitions": [{"id": 7}, {"id": 2, "name": "late"}],
        "wells": [{"path": "B/3", "rowIndex": 1, "columnIndex": 2}, {"path": "A/2"}, {"path": "C/1"}, {"path": "A/1", "rowIndex": 9, "columnIndex": 0}, 5]}"#;

    #[test]
    fn plates_of_all_versions_are_the_same() {
        let found = plate(&format!("{{{PLATE}}}")).unwrap();
        assert_eq!(
            Some(&found),
            plate(&format!("{{\"ome\": {{\"version\": \"0.5\", {PLATE}}}}}")).as_ref()
        );
        let well = |path: &str, row, column| PlateWell { path: path.into(), row, column };
        // Without indices the names say where a well is; one that is nowhere is left out.
        assert_eq!(found.wells, [well("B/3", 1, 2), well("A/2", 0, 1)]);
        assert_eq!((found.rows.len(), found.columns.len(), found.field_count), (2, 3, Some(4)));
        assert_eq!(found.acquisitions[1], Acquisition { id: 2, name: Some("late".into()) });
    }

    #[test]
    fn what_is_no_plate_is_none() {
        for text in [
            "{}",
            r#"{"plate": "AB 12"}"#,
            r#"{"plate": {"rows": [], "columns": []}}"#,
            r#"{"ome": {"plate": {"wells": 3}}}"#,
        ] {
            assert_eq!(plate(text), None, "{text}");
        }
        let empty = plate(r#"{"plate": {"wells": [{"path": "A/1"}], "rows": 4}}"#).unwrap();
        assert!(empty.wells.is_empty() && empty.columns.is_empty());
    }
}

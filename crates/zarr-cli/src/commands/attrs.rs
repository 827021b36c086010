//! Shows and changes a node's attributes.

use clap::Args;
use zarr::missing_value::{self, FILL_VALUE};
use zarr::nczarr::Dataset;
use zarr::{Array, Dialect, Json, Node, Object};

use super::Out;
use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr attrs data.zarr/temperature
  zarr attrs data.zarr temperature units
  zarr attrs data.zarr --path temperature --set units=kelvin \\
      --set 'valid_range=[0,400]'
  zarr attrs data.zarr --path temperature --delete units --json
  zarr attrs cells.ome.zarr --set ome.omero.channels.0.label=DAPI",
    after_long_help = crate::details("\
A KEY can address a value inside an attribute, as in omero.channels.0.label; an item of a list also by one of its members, as
in multiscales.0.datasets.path=2, or by the text that it is; an attribute with exactly that name takes precedence. A value is JSON, otherwise a string. With KEY, the exit code is 1 if the attribute does not exist.
Numbers on a terminal have at most 8 significant digits; in a pipe and with --json they are as stored.
Changes apply to the latest attributes, so that concurrent changes are not lost. After a change only
--json prints the attributes."))]
pub(crate) struct Attrs {
    /// Path or URL of a hierarchy, or of a node inside
    #[arg(value_name = "TARGET")]
    target: String,
    /// Path of the node, relative to the one that TARGET names; if no KEY follows, it may be the KEY
    #[arg(value_name = "PATH")]
    first: Option<String>,
    /// Show only this attribute
    #[arg(value_name = "KEY", conflicts_with_all = ["path", "set", "delete"])]
    second: Option<String>,
    /// The same as PATH; then what follows TARGET is the KEY
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Set an attribute; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse::member)]
    set: Vec<(String, Json)>,
    /// Delete an attribute; can be repeated
    #[arg(long, value_name = "KEY", alias = "unset", alias = "remove")]
    delete: Vec<String>,
    #[command(flatten)]
    care: WriteOptions,
}

/// That a node has no attribute of this name, and which one may be meant.
fn no_attribute(attributes: &Object, key: &str) -> String {
    let near = zarr::did_you_mean(key, attributes.iter().map(|(name, _)| name));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("no attribute `{key}`{near}")
}

impl Attrs {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let changes = !self.set.is_empty() || !self.delete.is_empty();
        if changes {
            return self.change(session, out);
        }
        let (node, key) = self.node_and_key(session)?;
        let attributes = node.attributes();
        session.warn(node.hierarchy());
        match key {
            None => show(&attributes, session.is_json(), out),
            Some(key) => {
                let value = inside(&attributes, key).map_err(|why| {
                    let place = human::place(node.hierarchy(), node.path());
                    Failure::NoSuch(format!("{place}: {why}"))
                })?;
                show_value(value, session.is_json(), out)
            }
        }
    }

    /// The node whose attributes are shown, and which of them. A single word behind TARGET is a key if the node there has it, or
    /// if there is no such node below.
    fn node_and_key(&self, session: &Session) -> Result<(Node, Option<&str>), Failure> {
        let words = [self.first.as_deref(), self.second.as_deref()];
        if let Some(text) = words.into_iter().flatten().find(|word| word.contains('=')) {
            return Err(Failure::Usage(format!("to set an attribute, give `--set {text}`")));
        }
        let open = |path: &str| session.open(&Target::new(&self.target, path));
        match (&self.path, words) {
            (Some(path), [key, _]) => Ok((open(path)?, key)),
            (None, [Some(path), Some(key)]) => Ok((open(path)?, Some(key))),
            (None, [Some(word), None]) => {
                let node = open("/")?;
                if inside(&node.attributes(), word).is_err()
                    && let Ok(below) = open(word)
                {
                    return Ok((below, None));
                }
                Ok((node, Some(word)))
            }
            (None, _) => Ok((open("/")?, None)),
        }
    }

    fn change(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        interrupt::leaves(
            session,
            "either all of the change was made or none of it; `zarr attrs` shows which",
        );
        if let (Some(_), Some(key)) = (&self.path, &self.first) {
            let why = format!("unexpected `{key}`: --set and --delete take no KEY");
            return Err(Failure::Usage(why));
        }
        let path = self.path.as_ref().or(self.first.as_ref()).map_or("/", String::as_str);
        let node = session.open_rw(&Target::new(&self.target, path), &self.care)?;
        let there = node.attributes();
        let array = match &node {
            Node::Array(array) => Some(array),
            Node::Group(_) => None,
        };
        let refusal = |why: String| {
            let place = human::place(node.hierarchy(), node.path());
            Failure::NoSuch(format!("{place}: {why}"))
        };
        // What cannot be done is refused before anything is written.
        self.changed(&there).map_err(refusal)?;
        for (key, value) in &self.set {
            tell_other_type(session, &node, &there, key, value);
        }
        // Another program may change the attributes meanwhile, and the update is tried again with them: the last try counts.
        let mut refused = None;
        let after = node.update_attributes(|attributes| match self.changed(attributes) {
            Ok(changed) => {
                refused = None;
                *attributes = changed;
                if let Some(array) = array
                    && self.set.iter().any(|(key, _)| key == FILL_VALUE)
                    && let Some(right) = fill_attribute(array, attributes)
                {
                    attributes.insert(FILL_VALUE, right);
                }
            }
            Err(why) => refused = Some(why),
        })?;
        if let Some(why) = refused {
            return Err(refusal(why));
        }
        session.warn(node.hierarchy());
        if session.is_json() { show(&after, true, out) } else { Ok(()) }
    }

    /// The attributes after the change, or why there is nothing at one of the keys.
    fn changed(&self, attributes: &Object) -> Result<Object, String> {
        let mut all = attributes.clone();
        for key in &self.delete {
            inside(&all, key)?;
            set_member(&mut all, key, None)?;
        }
        for (key, value) in &self.set {
            set_member(&mut all, key, Some(value))?;
        }
        Ok(all)
    }
}

/// The attribute `_FillValue` as readers of v3 take it, if it is there in another form. In netCDF's own datasets it has the form of
/// fill values.
pub(super) fn fill_attribute(array: &Array, attributes: &Object) -> Option<Json> {
    let given = attributes.get(FILL_VALUE)?;
    let hierarchy = array.hierarchy();
    if hierarchy.dialect() != Dialect::V3 || Dataset::is_nczarr(hierarchy) {
        return None;
    }
    missing_value::form_of_v3(&array.data_type(), given).ok()?
}

/// Says that an attribute which was a text becomes something else: what is typed is JSON first.
fn tell_other_type(session: &Session, node: &Node, there: &Object, key: &str, value: &Json) {
    let Ok(Json::String(_)) = inside(there, key) else { return };
    let value = &as_ome_text(key, value);
    if matches!(value, Json::Number(_) | Json::Bool(_) | Json::Null) {
        let what = format!(
            "`{key}` was text and becomes {}; for text, use quotes: `--set '{key}=\"{value}\"'`",
            match value {
                Json::Number(_) => "a number",
                Json::Bool(_) => "a bool",
                _ => "null",
            }
        );
        let place = human::place(node.hierarchy(), node.path());
        session.warn_of(&[zarr::Warning { place, what }]);
    }
}

/// The value at a key: that of the attribute of this name, else what the names between the periods lead to.
fn inside<'a>(attributes: &'a Object, key: &str) -> Result<&'a Json, String> {
    if let Some(value) = attributes.get(key) {
        return Ok(value);
    }
    let Some((attribute, rest)) = container(attributes, key) else {
        return Err(no_attribute(attributes, key));
    };
    let mut value = attributes.get(attribute).unwrap_or(&Json::Null);
    let mut known = attribute.to_owned();
    for name in rest.split('.') {
        value = item(value, name).ok_or_else(|| no_member(&known, value, name))?;
        known = format!("{known}.{name}");
    }
    Ok(value)
}

/// The attribute that a key with periods leads into, and the rest of the key; `None` if there is no such object or list.
fn container<'a>(attributes: &Object, key: &'a str) -> Option<(&'a str, &'a str)> {
    let (attribute, rest) = key.split_once('.')?;
    let value = attributes.get(attribute)?;
    matches!(value, Json::Object(_) | Json::Array(_)).then_some((attribute, rest))
}

/// A member of an object, or an item of a list.
fn item<'a>(value: &'a Json, name: &str) -> Option<&'a Json> {
    match value {
        Json::Object(object) => object.get(name),
        Json::Array(items) => items.get(place_of(items, name)?),
        _ => None,
    }
}

/// The place of an item in a list: its number; `member=text` for the object with that member; or the text that it is. The last two
/// stay right when other items are deleted.
fn place_of(items: &[Json], name: &str) -> Option<usize> {
    if let Ok(place) = name.parse::<usize>() {
        return (place < items.len()).then_some(place);
    }
    items.iter().position(|item| match (item, name.split_once('=')) {
        (Json::Object(object), Some((member, text))) => {
            object.get(member).and_then(Json::as_str) == Some(text)
        }
        (item, _) => item.as_str() == Some(name),
    })
}

/// That a value has nothing of this name.
fn no_member(known: &str, value: &Json, name: &str) -> String {
    match value {
        Json::Object(object) => {
            let near = zarr::did_you_mean(name, object.iter().map(|(name, _)| name));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("`{known}` has no member `{name}`{near}")
        }
        Json::Array(items) => {
            let count = human::plural(items.len() as u64, "item");
            format!("`{known}` has {count}, counted from 0, and no item `{name}`")
        }
        other => format!("`{known}` is {} and has no member `{name}`", other.kind()),
    }
}

/// Sets the value at a key, or removes what is there.
fn set_member(attributes: &mut Object, key: &str, value: Option<&Json>) -> Result<(), String> {
    let leads_inside = if attributes.contains(key) { None } else { container(attributes, key) };
    // Where OME-Zarr's metadata are from 0.5 on.
    if leads_inside.is_none()
        && let Some((first, _)) = key.split_once('.')
        && !attributes.contains(key)
        && let Some(Json::Object(ome)) = attributes.get("ome")
        && ome.contains(first)
    {
        return Err(format!("no attribute `{first}`; did you mean `ome.{key}`?"));
    }
    if leads_inside.is_none() && !attributes.contains(key) {
        refuse_misspelt_way(attributes, key)?;
    }
    let value = value.map(|value| as_ome_text(key, value));
    let value = value.as_ref();
    let (attribute, value) = match leads_inside {
        None => (key, value.cloned()),
        Some((attribute, rest)) => {
            let old = attributes.get(attribute).unwrap_or(&Json::Null);
            (attribute, Some(with_item(old, attribute, rest, value)?))
        }
    };
    match value {
        Some(value) => drop(attributes.insert(attribute, value)),
        None => drop(attributes.remove(attribute)),
    }
    Ok(())
}

/// Refuses a key that is meant to lead into an attribute, and begins with another name than that has.
fn refuse_misspelt_way(attributes: &Object, key: &str) -> Result<(), String> {
    let Some((first, rest)) = key.split_once('.') else { return Ok(()) };
    // In OME-Zarr 0.4 and before, the metadata are attributes themselves.
    let next = rest.split('.').next().unwrap_or(rest);
    if first == "ome" && attributes.contains(next) {
        return Err(format!("no attribute `ome`; did you mean `{rest}`?"));
    }
    let containers = attributes.iter().filter_map(|(name, value)| {
        matches!(value, Json::Object(_) | Json::Array(_)).then_some(name)
    });
    if let Some(Json::Object(ome)) = attributes.get("ome")
        && let Some(near) = zarr::did_you_mean(first, ome.iter().map(|(name, _)| name))
    {
        return Err(format!("no attribute `{first}`; did you mean `ome.{near}.{rest}`?"));
    }
    match zarr::did_you_mean(first, containers) {
        Some(near) => Err(format!("no attribute `{first}`; did you mean `{near}.{rest}`?")),
        None => Ok(()),
    }
}

/// A value as OME-Zarr has it: paths, versions and names there are texts, also if they look like numbers.
fn as_ome_text(key: &str, value: &Json) -> Json {
    const OBJECTS: [&str; 8] =
        ["ome", "multiscales", "omero", "plate", "well", "labels", "series", "image-label"];
    const TEXTS: [&str; 6] = ["path", "version", "name", "label", "color", "unit"];
    let is_ome = key.split_once('.').is_some_and(|(first, _)| OBJECTS.contains(&first));
    let mut last = key.rsplit('.');
    let (last, before) = (last.next().unwrap_or_default(), last.next().unwrap_or_default());
    let is_text = TEXTS.contains(&last) || ["labels", "series"].contains(&before);
    match value {
        Json::Number(number) if is_ome && is_text => Json::from(number.to_string()),
        other => other.clone(),
    }
}

/// A value with another one inside it, at the names between the periods. The last name may be that of a new member of an object.
fn with_item(old: &Json, known: &str, path: &str, new: Option<&Json>) -> Result<Json, String> {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let new = match (rest, item(old, name)) {
        (Some(rest), Some(inner)) => Some(with_item(inner, &format!("{known}.{name}"), rest, new)?),
        (Some(_), None) => return Err(no_member(known, old, name)),
        (None, _) => new.cloned(),
    };
    match old {
        Json::Object(object) => {
            let mut object = object.clone();
            match new {
                Some(value) => drop(object.insert(name, value)),
                None => drop(object.remove(name)),
            }
            Ok(Json::Object(object))
        }
        Json::Array(items) => {
            let Some(place) = place_of(items, name) else {
                return Err(no_member(known, old, name));
            };
            let mut items = items.clone();
            match new {
                Some(value) => items[place] = value,
                None => drop(items.remove(place)),
            }
            Ok(Json::Array(items))
        }
        _ => Err(no_member(known, old, name)),
    }
}

fn show(attributes: &Object, json: bool, out: Out<'_>) -> Result<(), Failure> {
    if json {
        let standard = Json::from(attributes.clone()).into_standard();
        return Ok(writeln!(out, "{standard:#}")?);
    }
    for (key, value) in attributes.iter() {
        write!(out, "{key}: ")?;
        show_value(value, json, out)?;
    }
    Ok(())
}

fn show_value(value: &Json, json: bool, out: Out<'_>) -> Result<(), Failure> {
    match value {
        Json::String(text) if !json => writeln!(out, "{text}")?,
        value if json => writeln!(out, "{}", value.clone().into_standard())?,
        value => writeln!(out, "{}", Digits::of_output().of_json(value))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes() -> Object {
        let text = r#"{"units": "K", "a.b": 1, "a": {"b": 2}, "omero": {"channels": [{"label": "x"}, {}]}}"#;
        Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    fn with_member(all: &Object, key: &str, value: Option<&Json>) -> Result<Object, String> {
        let mut all = all.clone();
        set_member(&mut all, key, value).map(|()| all)
    }

    #[test]
    fn a_key_leads_into_an_attribute_unless_one_has_its_name() {
        let all = attributes();
        assert_eq!(inside(&all, "a.b"), Ok(&Json::from(1u64)));
        assert_eq!(inside(&all, "omero.channels.0.label"), Ok(&Json::from("x")));
        for (key, why) in [
            ("unit", "no attribute `unit`; did you mean `units`?"),
            ("units.x", "no attribute `units.x`"),
            ("omero.channel.0", "`omero` has no member `channel`; did you mean `channels`?"),
            ("omero.channels.2", "`omero.channels` has 2 items"),
            ("omero.channels.0.label.x", "`omero.channels.0.label` is a string"),
        ] {
            let refused = inside(&all, key).unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
            if key.contains("omero") {
                assert!(with_member(&all, &format!("{key}.y"), Some(&Json::Null)).is_err());
            }
        }
    }

    #[test]
    fn a_change_inside_an_attribute_leaves_the_rest() {
        let all = attributes();
        let set = with_member(&all, "omero.channels.1.label", Some(&"y".into())).unwrap();
        assert_eq!(inside(&set, "omero.channels.1.label"), Ok(&Json::from("y")));
        assert_eq!(inside(&set, "omero.channels.0.label"), Ok(&Json::from("x")));
        let without = with_member(&set, "omero.channels.0", None).unwrap();
        assert_eq!(inside(&without, "omero.channels.0.label"), Ok(&Json::from("y")));
        // An item by what it is, whatever its place.
        assert_eq!(inside(&all, "omero.channels.label=x.label"), Ok(&Json::from("x")));
        let without = with_member(&set, "omero.channels.label=x", None).unwrap();
        assert_eq!(inside(&without, "omero.channels.0.label"), Ok(&Json::from("y")));
        assert!(with_member(&set, "omero.channels.label=z", None).is_err());
        let plain = with_member(&all, "x.y", Some(&1u64.into())).unwrap();
        assert_eq!(plain.get("x.y"), Some(&Json::from(1u64)));
        // Paths, versions and labels of OME-Zarr are texts.
        let number = with_member(&all, "omero.channels.1.label", Some(&7u64.into())).unwrap();
        assert_eq!(inside(&number, "omero.channels.1.label"), Ok(&Json::from("7")));
        let number = with_member(&all, "a.label", Some(&7u64.into())).unwrap();
        assert_eq!(inside(&number, "a.label"), Ok(&Json::from(7u64)));
        for (key, meant) in
            [("ome.omero.channels.0.label", "`omero.channels.0.label`"), ("omer.x", "`omero.x`")]
        {
            let why = with_member(&all, key, Some(&"y".into())).unwrap_err();
            assert!(why.contains(meant), "{why}");
        }
        let named = with_member(&all, "a.b", Some(&3u64.into())).unwrap();
        assert_eq!((inside(&named, "a.b"), named.get("a")), (Ok(&Json::from(3u64)), all.get("a")));
    }
}

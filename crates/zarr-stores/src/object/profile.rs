//! Reads the files of `~/.aws`.
//!
//! Keys, a region, an endpoint and the style of addresses, and the program that prints credentials. Where they come from a role or a
//! sign-on, the error says how to export them.

use std::collections::HashMap;
use std::path::PathBuf;

use object_store::aws::AmazonS3ConfigKey as Key;

use super::credential_process::ProcessCredentials;

/// What is known of one profile.
#[derive(Debug, Default)]
pub(super) struct Profile {
    name: String,
    values: HashMap<String, String>,
}

const KNOWN: [(&str, Key); 7] = [
    ("aws_access_key_id", Key::AccessKeyId),
    ("aws_secret_access_key", Key::SecretAccessKey),
    ("aws_session_token", Key::Token),
    ("region", Key::Region),
    ("endpoint_url", Key::Endpoint),
    ("role_arn", Key::RoleArn),
    ("web_identity_token_file", Key::WebIdentityTokenFile),
];

/// Where credentials may come from that are not fetched here.
const ELSEWHERE: [&str; 4] =
    ["sso_session", "sso_start_url", "source_profile", "credential_source"];

impl Profile {
    /// The profile that `AWS_PROFILE` names, else `default`.
    pub fn read() -> Result<Profile, String> {
        let named = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE"));
        let credentials = contents(place("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
        let config = contents(place("AWS_CONFIG_FILE", "config"));
        let name = named.clone().unwrap_or_else(|| "default".into());
        match (Profile::find(&name, &credentials, &config), named) {
            (Some(profile), _) => Ok(profile),
            (None, None) => Ok(Profile::default()),
            (None, Some(name)) => Err(format!(
                "the profile `{name}` of `AWS_PROFILE` is in neither `~/.aws/credentials` nor `~/.aws/config`"
            )),
        }
    }

    fn find(name: &str, credentials: &str, config: &str) -> Option<Profile> {
        let (mut credentials, mut config) = (sections(credentials), sections(config));
        let in_config = config.remove(&format!("profile {name}")).or_else(|| match name {
            "default" => config.remove("default"),
            _ => None,
        });
        let in_credentials = credentials.remove(name);
        if in_config.is_none() && in_credentials.is_none() {
            return None;
        }
        let mut values = in_config.unwrap_or_default();
        if let Some(services) = values.get("services")
            && let Some(services) = config.remove(&format!("services {services}"))
            && let Some(endpoint) = services.get("s3.endpoint_url")
        {
            values.insert("endpoint_url".into(), endpoint.clone());
        }
        values.extend(in_credentials.unwrap_or_default());
        Some(Profile { name: name.to_owned(), values })
    }

    /// Its settings, as keys of the builder.
    pub fn settings(&self) -> Vec<(Key, String)> {
        let known = KNOWN.into_iter();
        let mut settings: Vec<_> =
            known.filter_map(|(name, key)| Some((key, self.values.get(name)?.clone()))).collect();
        match self.values.get("s3.addressing_style").map(String::as_str) {
            Some("virtual") => settings.push((Key::VirtualHostedStyleRequest, "true".into())),
            Some("path") => settings.push((Key::VirtualHostedStyleRequest, "false".into())),
            _ => {}
        }
        settings
    }

    /// The program that prints its credentials, if it has one.
    ///
    /// # Errors
    /// For a command that is not well formed.
    pub fn process(&self) -> Result<Option<ProcessCredentials>, String> {
        let command = self.values.get("credential_process");
        command.map(|command| ProcessCredentials::new(&self.name, command)).transpose()
    }

    /// Why its credentials cannot be had here, if it has them from elsewhere.
    pub fn obstacle(&self) -> Option<String> {
        let from = ELSEWHERE.iter().find(|name| self.values.contains_key(**name))?;
        let name = &self.name;
        let quoted = if name.contains([' ', '\t']) { format!("'{name}'") } else { name.clone() };
        let export = format!("aws configure export-credentials --profile {quoted}");
        Some(format!(
            "the profile `{name}` has its credentials by `{from}`, which is not supported; put them into the \
             environment with `eval \"$({export} --format env)\"`; or, so that they are renewed, name with `AWS_PROFILE` \
             another profile, which has `credential_process = {export}`"
        ))
    }
}

/// A variable of the environment that is not empty.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?.trim_end_matches(['\r', '\n']).to_owned();
    Some(value).filter(|value| !value.is_empty())
}

/// Where a file of AWS's is: a variable says it, or it is in the home folder.
fn place(name: &str, file: &str) -> Option<PathBuf> {
    match variable(name) {
        Some(path) => Some(PathBuf::from(path)),
        None => std::env::home_dir().map(|home| home.join(".aws").join(file)),
    }
}

/// The text of a file, empty where there is none.
fn contents(path: Option<PathBuf>) -> String {
    path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
}

/// The sections of such a file, and what is set in each; `s3.x` for an `x` indented below `s3 =`.
fn sections(text: &str) -> HashMap<String, HashMap<String, String>> {
    let mut sections = HashMap::<String, HashMap<String, String>>::new();
    let (mut section, mut group) = (None, None);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            sections.entry(name.clone()).or_default();
            (section, group) = (Some(name), None);
            continue;
        }
        let (Some(section), Some((name, value))) = (&section, trimmed.split_once('=')) else {
            continue;
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let value = value.split(" #").next().unwrap_or_default();
        let value = value.split(" ;").next().unwrap_or_default().trim();
        let indented = line.starts_with([' ', '\t']);
        let name = match (&group, indented) {
            (Some(group), true) => format!("{group}.{name}"),
            _ => name,
        };
        if !indented {
            group = value.is_empty().then(|| name.clone());
        }
        if let Some(values) = sections.get_mut(section) {
            values.insert(name, value.to_owned());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key=S # mine\n\n\
                               [ lab ]\naws_access_key_id=LA\naws_secret_access_key=LS\n";
    const CONFIG: &str = "# ours\n[default]\nregion = eu-west-1\n[profile lab]\nregion=us-west-2\n\
                          endpoint_url = https://minio.lab\ns3 =\n    addressing_style = virtual\n\
                          output = json\n[profile office]\nsso_session = office\nservices = ours\n\
                          [services ours]\ns3 =\n  endpoint_url = https://ours.example\n";

    fn said(name: &str) -> Vec<(Key, String)> {
        Profile::find(name, CREDENTIALS, CONFIG).unwrap().settings()
    }

    #[test]
    fn a_profile_is_in_both_files() {
        let text = String::from;
        let default = [
            (Key::AccessKeyId, text("A")),
            (Key::SecretAccessKey, text("S")),
            (Key::Region, text("eu-west-1")),
        ];
        assert_eq!(said("default"), default);
        let lab = [
            (Key::AccessKeyId, text("LA")),
            (Key::SecretAccessKey, text("LS")),
            (Key::Region, text("us-west-2")),
            (Key::Endpoint, text("https://minio.lab")),
            (Key::VirtualHostedStyleRequest, text("true")),
        ];
        assert_eq!(said("lab"), lab);
        assert_eq!(said("office"), [(Key::Endpoint, text("https://ours.example"))]);
        assert!(Profile::find("other", CREDENTIALS, CONFIG).is_none());
    }

    #[test]
    fn credentials_from_elsewhere_are_told() {
        let office = Profile::find("office", CREDENTIALS, CONFIG).unwrap();
        assert!(office.obstacle().unwrap().contains("`sso_session`"));
        let lab = Profile::find("lab", CREDENTIALS, CONFIG).unwrap();
        assert_eq!(lab.obstacle(), None);
    }
}

//! Credentials that a program of the user's prints: `credential_process` of a profile in `~/.aws/config`.
//!
//! As Amazon's tools do, the command is split into words and run without a shell, and its standard output is JSON of version 1.
//! What it prints elsewhere may be secret and is not shown.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use futures::channel::oneshot;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use zarr_core::Json;
use zarr_core::runtime::spawn_thread;

/// How long before they expire credentials are asked for again.
const RENEWED_BEFORE_EXPIRY: Duration = Duration::from_secs(5 * 60);
/// Credentials that are valid for less time than that are not asked for again at each request.
const MIN_TIME_BETWEEN_RUNS: Duration = Duration::from_secs(10);
/// The command may ask a person for a second factor.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the end of its output is waited for when a command has ended.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 5000 });
/// How often a running command is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// The credentials of one profile.
pub(super) struct ProcessCredentials {
    profile: String,
    words: Vec<String>,
    known: tokio::sync::Mutex<Option<Known>>,
}

impl std::fmt::Debug for ProcessCredentials {
    /// The command may have a secret among its words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessCredentials").field("profile", &self.profile).finish_non_exhaustive()
    }
}

/// What the command printed last.
struct Known {
    credential: Arc<AwsCredential>,
    expires: Option<SystemTime>,
    asked: Instant,
}

impl Known {
    fn is_valid(&self) -> bool {
        let Some(expires) = self.expires else { return true };
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        left > RENEWED_BEFORE_EXPIRY
            || (!left.is_zero() && self.asked.elapsed() < MIN_TIME_BETWEEN_RUNS)
    }
}

impl ProcessCredentials {
    /// # Errors
    /// For a command that is empty, or whose quotes are not closed.
    pub fn new(profile: &str, command: &str) -> Result<ProcessCredentials, String> {
        let words = words(command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            format!("the profile `{profile}` has a `credential_process` that is empty, or lacks a closing quote")
        })?;
        Ok(ProcessCredentials { profile: profile.to_owned(), words, known: Default::default() })
    }

    fn error(&self, why: &str) -> object_store::Error {
        let profile = &self.profile;
        let why = format!("`credential_process` of the profile `{profile}` {why}");
        object_store::Error::Generic { store: "S3", source: why.into() }
    }
}

#[async_trait]
impl CredentialProvider for ProcessCredentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut known = self.known.lock().await;
        if let Some(known) = &*known
            && known.is_valid()
        {
            return Ok(known.credential.clone());
        }
        let (send, printed) = oneshot::channel();
        let words = self.words.clone();
        // The thread of requests must not wait for a program.
        spawn_thread("zarr-credentials", move || drop(send.send(output(&words))))
            .map_err(|e| self.error(&format!("cannot be run: {e}")))?;
        let printed = printed.await.unwrap_or_else(|_| Err("cannot be run".into()));
        let now = printed.and_then(|printed| parse(&printed)).map_err(|why| self.error(&why))?;
        let credential = now.credential.clone();
        *known = Some(now);
        Ok(credential)
    }
}

/// What a command prints on its standard output.
fn output(words: &[String]) -> Result<Vec<u8>, String> {
    let (program, arguments) = words.split_first().ok_or("is empty")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child =
        command.spawn().map_err(|e| format!("cannot be run: {e}; is the program installed?"))?;
    let stdout = child.stdout.take();
    let (send, received) = mpsc::channel();
    let reader = spawn_thread("zarr-credentials-read", move || {
        let mut printed = Vec::new();
        let read = stdout.map(|stdout| stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut printed));
        drop(send.send(read.transpose().map(|_| printed)));
    });
    if let Err(e) = reader {
        // The system refuses a further thread. The program ends, as nobody reads what it prints.
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("cannot be run: {e}"));
    }
    wait(&mut child)?;
    // A program that the command left in the background may keep its output open for ever.
    let printed = received.recv_timeout(OUTPUT_TIMEOUT);
    let printed = printed.map_err(|_| "ended, but another program keeps its output open")?;
    printed.map_err(|e| format!("cannot be read: {e}"))
}

/// Waits for a command, which must succeed.
fn wait(child: &mut Child) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match child.try_wait().map_err(|e| format!("cannot be waited for: {e}"))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(format!("failed with {status}; run its command to see why"));
            }
            None if begun.elapsed() > COMMAND_TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                let seconds = COMMAND_TIMEOUT.as_secs();
                return Err(format!("did not end within {seconds} s; run its command to see why"));
            }
            None => thread::sleep(POLL_INTERVAL),
        }
    }
}

/// The credentials in what a command printed, none of which an error shows.
fn parse(printed: &[u8]) -> Result<Known, String> {
    let json = Json::parse(printed).map_err(|_| "did not print JSON")?;
    let object = json.as_object().ok_or("printed JSON that is not an object")?;
    if object.get("Version") != Some(&1u64.into()) {
        return Err("printed no `\"Version\": 1`, the only version that exists".into());
    }
    let text = |member: &str| object.get(member).and_then(Json::as_str).filter(|it| !it.is_empty());
    let needed = |member: &str| text(member).ok_or_else(|| format!("printed no `{member}`"));
    let credential = AwsCredential {
        key_id: needed("AccessKeyId")?.to_owned(),
        secret_key: needed("SecretAccessKey")?.to_owned(),
        token: text("SessionToken").map(str::to_owned),
    };
    let mut expires = None;
    if let Some(written) = text("Expiration") {
        let time = time(written).ok_or_else(|| {
            format!("printed the `Expiration` `{written}`, which is not an ISO 8601 time")
        })?;
        if time <= SystemTime::now() {
            return Err(format!("printed credentials that expired at {written}"));
        }
        expires = Some(time);
    }
    Ok(Known { credential: Arc::new(credential), expires, asked: Instant::now() })
}

/// A time of ISO 8601 with its zone: `2026-11-29T12:00:00Z`, `2026-11-29T14:00:00+02:00`.
fn time(text: &str) -> Option<SystemTime> {
    let at = text.rfind(['Z', 'z', '+', '-']).filter(|&at| at > "2026-11-29".len())?;
    let (local, zone) = text.split_at(at);
    let time = humantime::parse_rfc3339_weak(&format!("{local}Z")).ok()?;
    let Some(offset) = zone.strip_prefix(['+', '-']) else { return Some(time) };
    let (hours, minutes) = match offset.split_once(':') {
        Some(parts) => parts,
        None => offset.split_at_checked(2)?,
    };
    let hours: u64 = hours.parse().ok()?;
    let minutes: u64 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    let offset = Duration::from_secs(hours * 3600 + minutes * 60);
    if zone.starts_with('+') { time.checked_sub(offset) } else { time.checked_add(offset) }
}

/// The words of a command, as a shell splits them: at spaces, but for those in quotes or behind a backslash. `None` if a quote is not
/// closed. A backslash is one of Windows' paths there.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') if !cfg!(windows) => {
                word.get_or_insert_default().extend(letters.next());
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        Some(time(text)?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
    }

    #[test]
    fn times_have_zones() {
        assert_eq!(seconds("1970-01-02T00:00:00Z"), Some(86_400));
        assert_eq!(seconds("1970-01-02T00:00:00.5Z"), Some(86_400));
        assert_eq!(seconds("1970-01-02T02:00:00+02:00"), Some(86_400));
        assert_eq!(seconds("1970-01-01T19:30:00-0430"), Some(86_400));
        assert_eq!(seconds("1970-01-02T00:00:00+00:00"), Some(86_400));
        for bad in ["", "soon", "1970-01-02", "1970-01-02T00:00:00", "1970-01-02T00:00:00+x"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn commands_are_split_as_a_shell_does() {
        let split = |text: &str| words(text).map(|words| words.join("|"));
        assert_eq!(split("a  b\tc").as_deref(), Some("a|b|c"));
        assert_eq!(split(r#""/a b/c" --x 'y z' "" w"#).as_deref(), Some("/a b/c|--x|y z||w"));
        assert_eq!(split(r#"a\ b "c\"d" 'e\f'"#).as_deref(), Some(r#"a b|c"d|e\f"#));
        assert_eq!(split("a 'b"), None);
        assert_eq!(split("   ").as_deref(), Some(""));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_left_in_the_background_keeps_nobody_waiting() {
        let command = |text: &str| ["sh", "-c", text].map(str::to_owned);
        assert_eq!(output(&command("echo here")), Ok(b"here\n".to_vec()));
        let error = output(&command("sleep 9 & echo here")).unwrap_err();
        assert!(error.contains("another program keeps its output open"), "{error}");
    }

    #[test]
    fn what_is_printed_is_checked_and_not_shown() {
        let printed = |members: &str| {
            parse(format!("{{{members}}}").as_bytes()).map(|known| known.credential)
        };
        let keys = r#""AccessKeyId":"KEY","SecretAccessKey":"hush""#;
        let all = format!(
            r#""Version":1,{keys},"SessionToken":"hush-2","Expiration":"2999-01-01T00:00:00Z""#
        );
        let credential = printed(&all).unwrap();
        assert_eq!((&*credential.key_id, &*credential.secret_key), ("KEY", "hush"));
        assert_eq!(credential.token.as_deref(), Some("hush-2"));
        let no_expiry = printed(&format!(r#""Version":1,{keys}"#)).unwrap();
        assert_eq!(no_expiry.token, None);
        for (bad, why) in [
            (keys.to_owned(), "Version"),
            (format!(r#""Version":2,{keys}"#), "Version"),
            (r#""Version":1,"AccessKeyId":"KEY""#.into(), "`SecretAccessKey`"),
            (r#""Version":1,"SecretAccessKey":"hush""#.into(), "`AccessKeyId`"),
            (format!(r#""Version":1,{keys},"Expiration":"later""#), "`later`"),
            (
                format!(r#""Version":1,{keys},"Expiration":"2001-01-01T00:00:00Z""#),
                "expired at 2001",
            ),
            (r#""Version":1,"x":hush"#.into(), "did not print JSON"),
        ] {
            let error = printed(&bad).expect_err(&bad);
            assert!(error.contains(why) && !error.contains("hush"), "{error}");
        }
    }
}

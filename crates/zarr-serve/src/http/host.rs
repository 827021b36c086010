//! Checks the header `Host`: a page of another site whose name leads here by its DNS must not read what is served.

use std::net::IpAddr;

/// The names by which the server may be called.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// Further names, without ports, in lower case.
    pub names: Vec<String>,
    /// Whether other addresses than loopback's are right, too: an address is no name that anyone's DNS could change.
    pub any_address: bool,
}

impl Hosts {
    /// Whether `host`, with or without a port, is the server.
    pub fn accepts(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(&name).parse::<IpAddr>() {
            return self.any_address || address.is_loopback();
        }
        let name = name.strip_suffix('.').unwrap_or(&name);
        name == "localhost"
            || name.ends_with(".localhost")
            || self.names.iter().any(|known| known == name)
    }
}

/// A host without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_are_taken() {
        let ours = Hosts { names: vec!["data.example".into()], any_address: false };
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:8000",
            "127.1.2.3",
            "[::1]:80",
            "[::1]",
            "data.example:1",
            "localhost.",
            "a.localhost",
        ] {
            assert!(ours.accepts(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "192.168.1.2",
            "[::2]:80",
            "127.0.0.1.evil.example",
            "notlocalhost",
            "0x7f.1",
            "localhost:80:80",
            "user@localhost",
        ] {
            assert!(!ours.accepts(host), "{host}");
        }
        let open = Hosts { any_address: true, ..ours };
        assert!(open.accepts("192.168.1.2:8000") && open.accepts("[fe80::1]:8000"));
        assert!(!open.accepts("evil.example"));
    }
}

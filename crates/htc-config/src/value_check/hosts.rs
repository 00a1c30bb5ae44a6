//! Hosts, networks and interfaces as items of lists.

use bstr::ByteSlice;

/// Returns true for `host:port` whose port is not valid; addresses in brackets and sinful strings are not examined.
pub(super) fn has_bad_port(word: &[u8]) -> bool {
    let Some((_, port)) = word.split_once_str(":") else { return false };
    let port = port.split(|&byte| byte == b'?').next().unwrap_or_default();
    // An IPv6 address has at least two colons; at its beginning or end, a colon is always doubled.
    let is_address = word.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b':')
        && word.iter().filter(|byte| **byte == b':').count() > 1
        && (!word.starts_with(b":") || word.starts_with(b"::"))
        && (!word.ends_with(b":") || word.ends_with(b"::"));
    if is_address || word.iter().any(|byte| b"<[\"'$/#".contains(byte)) {
        return false;
    }
    std::str::from_utf8(port).ok().is_none_or(|port| port.parse::<u16>().is_err())
}

/// Returns true for a network whose mask is too long (`condor_netaddr::from_net_string`), and for an address of more
/// than four numbers or with one above 255.
pub(super) fn has_bad_network(word: &[u8]) -> bool {
    let host = word.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let has_user = host.len() < word.len();
    let (address, mask) = match host.split_once_str("/") {
        // The part before the slash is a user.
        Some((_, host)) if has_user || word.starts_with(b"*/") => (host, None),
        Some((address, mask)) => (address, Some(mask)),
        None => (host, None),
    };
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(|b| b.is_ascii_digit() || *b == b'*');
    let parts: Vec<&[u8]> = address.split(|byte| *byte == b'.').collect();
    let is_numeric =
        parts.len() > 1 && parts.iter().all(|part| is_part(part)) && parts[0].iter().all(u8::is_ascii_digit);
    let is_above = |text: &[u8], max: u32| {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
        number.is_some_and(|number| number > max)
    };
    if is_numeric {
        return parts.len() > 4
            || parts.iter().any(|part| is_above(part, 255))
            || mask.is_some_and(|mask| is_above(mask, 32));
    }
    let is_version_6 =
        address.contains(&b':') && address.iter().all(|b| b.is_ascii_hexdigit() || b":[]".contains(b));
    is_version_6 && mask.is_some_and(|mask| is_above(mask, 128))
}

/// Returns true for digits alone, which cannot be a host.
pub(super) fn is_port(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_digit) && !word.is_empty()
}

/// Returns true for a network, and for an address that is not complete or has a number above 255
/// (`network_interface_to_sockaddr`, my_hostname.cpp).
pub(super) fn is_impossible_interface(word: &[u8]) -> bool {
    let is_address = word.contains(&b'.') && word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_number = |part: &[u8]| std::str::from_utf8(part).is_ok_and(|part| part.parse::<u8>().is_ok());
    let is_complete =
        || word.split(|byte| *byte == b'.').count() == 4 && word.split(|byte| *byte == b'.').all(is_number);
    word.contains(&b'/') || is_address && !is_complete()
}

/// Returns true for a host, an address, a network or a user with a host (`IpVerify::split_entry`, condor_ipverify.cpp).
pub(super) fn is_permission(word: &[u8]) -> bool {
    let is_address = |text: &[u8]| text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_punctuation =
        word.iter().all(u8::is_ascii_punctuation) && !word.iter().any(|byte| b"*$:[".contains(byte));
    let slashes = word.iter().filter(|byte| **byte == b'/').count();
    let last = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let has_mask = !last.is_empty() && is_address(last);
    let dots = last.iter().filter(|byte| **byte == b'.').count();
    let is_cut_mask = slashes > 0 && has_mask && matches!(dots, 1 | 2) && last.starts_with(b"255.");
    let is_other =
        word.contains(&b'$') || word.starts_with(b"<") || word.contains(&b'#') || word.contains(&b'"');
    is_other
        || !(is_punctuation
            || word.contains(&b'\\')
            || word.starts_with(b"!")
            || word.ends_with(b":") && !word.ends_with(b"::")
            || word.ends_with(b"@")
            || word.iter().filter(|byte| **byte == b'@').count() > 1
            || slashes > 2
            || slashes == 2 && !has_mask
            || is_cut_mask)
}

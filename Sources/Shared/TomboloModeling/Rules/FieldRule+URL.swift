public import SyncModel

extension FieldRule {
    /// Returns the rule for an absolute URL: one of the given schemes, `://`, and a host or, for `file`, an absolute
    /// path.
    ///
    /// All characters must be visible ASCII characters; RFC 3986 requires that others are percent-encoded. URLs with
    /// other schemes are rejected, such as `javascript:`, which a viewer would execute.
    ///
    /// - Parameter schemes: The allowed schemes, in lowercase.
    public static func url(schemes: [String]) -> FieldRule {
        let expected = schemes.map { $0 + "://" }.formatted
        return FieldRule(name: "url(" + schemes.joined(separator: ",") + ")") { address in
            guard address.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                return
                    "contains a character that is not allowed in a URL: percent-encode spaces, control characters, and characters beyond ASCII"
            }
            let lowercased = address.lowercased()
            guard let scheme = schemes.first(where: { lowercased.hasPrefix($0 + "://") }) else {
                return "is not a URL of an allowed kind: it must begin with \(expected)"
            }
            let rest = address.utf8.dropFirst(scheme.utf8.count + 3)
            // A file URL has no host; all others need one.
            let isPlace = scheme == "file" ? rest.first == UInt8(ascii: "/") : !(rest.first.map(Self.endsHost) ?? true)
            guard isPlace, rest.count > 1 || scheme != "file" else {
                return "names no \(scheme == "file" ? "file" : "host") after \(scheme)://"
            }
            return nil
        }
    }

    private static func endsHost(_ byte: UInt8) -> Bool {
        "/?#:".utf8.contains(byte)
    }
}

extension [String] {
    /// Formats as `a, b or c`.
    fileprivate var formatted: String {
        count > 1 ? dropLast().joined(separator: ", ") + " or " + self[count - 1] : first ?? ""
    }
}

/// The rules for the address of a picture, and the picture of those who have chosen none.
public enum ImageURL {
    /// A silhouette that needs no network to be shown.
    public static let standard =
        "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%208%208'%3E"
        + "%3Ccircle%20cx='4'%20cy='3'%20r='2'/%3E%3Cpath%20d='M0%208a4%203%200%200%201%208%200z'/%3E%3C/svg%3E"

    /// A scheme, a colon, and then visible ASCII alone (RFC 3986, appendix A).
    static func check(_ address: String) throws(ModelFailure) {
        let parts = address.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, isScheme(parts[0]), !parts[1].isEmpty else {
            throw ModelFailure(
                .invalidValue,
                "avatar.image_url is no URL: a scheme such as https is expected, then a colon and an address")
        }
        guard address.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ModelFailure(
                .invalidValue,
                "avatar.image_url contains a character that no URL has: spaces, controls and letters beyond ASCII are to be percent-encoded"
            )
        }
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

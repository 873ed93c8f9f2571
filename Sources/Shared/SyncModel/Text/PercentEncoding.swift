/// The encoding of text in URLs (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Returns the path with every byte encoded except the unreserved characters and `/`.
    package static func path(_ path: String) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(path.utf8.count)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.append(byte)
            default:
                text.append(UInt8(ascii: "%"))
                text += Hexadecimal.text(of: [byte]).uppercased().utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

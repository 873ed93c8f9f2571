/// Builds the SQLite URI of a database file.
package enum DatabaseURI {
    /// - Parameters:
    ///   - vfs: the name of a registered VFS to use instead of the file system; nil for the file system.
    ///   - creating: whether SQLite may create the file. On the file system, it should exist already, with private
    ///     permissions.
    package static func make(_ path: String, vfs: String? = nil, creating: Bool = false) -> String {
        var uri = "file:"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                uri.unicodeScalars.append(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                uri += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return uri + "?mode=\(creating ? "rwc" : "rw")" + (vfs.map { "&vfs=\($0)" } ?? "")
    }
}

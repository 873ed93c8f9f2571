package import SyncJSON
package import SyncModel

/// Output for scripts: one JSON object on one line.
package struct JSONLine: Sendable {
    private var writer = JSONWriter()

    package init() {
        writer.beginObject()
    }

    package mutating func set(_ key: String, _ value: String?) {
        writer.key(key)
        if let value { writer.string(value) } else { writer.null() }
    }

    package mutating func set(_ key: String, _ value: some BinaryInteger) {
        writer.key(key)
        writer.integer(value)
    }

    package mutating func set(_ key: String, _ value: Bool) {
        writer.key(key)
        writer.boolean(value)
    }

    package mutating func set(_ key: String, _ value: FieldValue) {
        writer.key(key)
        switch value {
        case .null: writer.null()
        case .boolean(let bool): writer.boolean(bool)
        case .integer(let number): writer.integer(number)
        case .real(let number): writer.real(number)
        case .text(let text): writer.string(text)
        case .reference(let id): writer.string(id.description)
        case .json(let text):
            if let json = Self.onOneLine(text) { writer.verbatim(json) } else { writer.string(text) }
        }
    }

    package mutating func set(_ key: String, _ texts: [String]) {
        writer.key(key)
        writer.beginArray()
        for text in texts { writer.string(text) }
        writer.endArray()
    }

    /// Sets an object.
    package mutating func set(_ key: String, _ line: JSONLine) {
        writer.key(key)
        writer.verbatim(line.bytes)
    }

    /// Sets any value.
    package mutating func set(_ key: String, json value: JSONValue) {
        writer.key(key)
        writer.verbatim(Array(value.text.utf8))
    }

    /// Sets an array of objects.
    package mutating func set(_ key: String, _ lines: [JSONLine]) {
        writer.key(key)
        writer.beginArray()
        for line in lines { writer.verbatim(line.bytes) }
        writer.endArray()
    }

    /// Returns a JSON text on one line; nil for a stored text that is not JSON, which is printed as a string.
    ///
    /// Line breaks (LF and CR) and tabs become spaces. In a JSON text, these characters occur only between tokens,
    /// where they mean the same.
    private static func onOneLine(_ json: String) -> [UInt8]? {
        let bytes = Array(json.utf8)
        do throws(JSONError) {
            try JSONReader.read(bytes) { (reader) throws(JSONError) in try reader.skip() }
        } catch {
            return nil
        }
        return bytes.map { $0 < 0x20 ? UInt8(ascii: " ") : $0 }
    }

    /// The line in UTF-8, without its line break.
    package var bytes: [UInt8] {
        var writer = writer
        writer.endObject()
        return writer.bytes
    }

    /// The line without its line break. JSON itself escapes control characters.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

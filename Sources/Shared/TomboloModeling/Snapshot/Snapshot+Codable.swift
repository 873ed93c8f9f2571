import SyncModel

/// A snapshot is encoded as an object with `id`, `uid`, and the fields under their names. Fields without a value are
/// left out. A JSON field is encoded as a string with its text.
extension Snapshot: Codable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) { nil }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id.description, forKey: Key(stringValue: "id"))
        try container.encode(uid, forKey: Key(stringValue: "uid"))
        for (field, value) in zip(shape.schema.fields, values) {
            let key = Key(stringValue: field.name.rawValue)
            switch value {
            case .null: continue
            case .boolean(let value): try container.encode(value, forKey: key)
            case .integer(let value): try container.encode(value, forKey: key)
            case .real(let value): try container.encode(value, forKey: key)
            case .text(let value), .json(let value): try container.encode(value, forKey: key)
            case .reference(let value): try container.encode(value.description, forKey: key)
            }
        }
    }

    public init(from decoder: any Decoder) throws {
        let shape = try ModelShape(M.self)
        let container = try decoder.container(keyedBy: Key.self)

        func id(_ key: Key) throws -> RecordID {
            let text = try container.decode(String.self, forKey: key)
            guard let id = RecordID(text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container, debugDescription: "'\(text)' is not a valid record id; expected a UUID")
            }
            return id
        }

        let values = try shape.schema.fields.map { field -> FieldValue in
            let key = Key(stringValue: field.name.rawValue)
            guard try container.contains(key) && !container.decodeNil(forKey: key) else { return .null }
            return switch field.type {
            case .boolean: .boolean(try container.decode(Bool.self, forKey: key))
            case .integer: .integer(try container.decode(Int64.self, forKey: key))
            case .real: .real(try container.decode(Double.self, forKey: key))
            case .text: .text(try container.decode(String.self, forKey: key))
            case .json: .json(try container.decode(String.self, forKey: key))
            case .reference: .reference(try id(key))
            }
        }
        self.init(
            id: try id(Key(stringValue: "id")), uid: try container.decode(Int.self, forKey: Key(stringValue: "uid")),
            values: values, shape: shape)
    }
}

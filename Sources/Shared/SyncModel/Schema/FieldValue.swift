/// The value of one field of one record.
///
/// Equality compares bytes, not Unicode equivalence: SQLite and PostgreSQL compare bytes, and two replicas must agree
/// on whether a value has changed.
public enum FieldValue: Sendable {
    /// No value. It is valid in every field that is not required.
    case null
    /// True or false.
    case boolean(Bool)
    /// A signed 64-bit integer.
    case integer(Int64)
    /// A double-precision number. Schemas accept only finite ones.
    case real(Double)
    /// A text of any length. The schema limits it, and excludes U+0000.
    case text(String)
    /// The id of a record in the field's target collection. The record may not exist here.
    case reference(RecordID)
    /// A JSON value, kept as its original text.
    case json(String)
}

extension FieldValue: Hashable {
    public static func == (left: FieldValue, right: FieldValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
        case (.text(let left), .text(let right)), (.json(let left), .json(let right)):
            left.hasSameBytes(as: right)
        case (.reference(let left), .reference(let right)): left == right
        case (.null, _), (.boolean, _), (.integer, _), (.real, _), (.text, _), (.reference, _), (.json, _): false
        }
    }

    /// Hashes the case, too. Otherwise an empty field and a zero would have the same hash.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .boolean(let value): hasher.combine(UInt8(value ? 2 : 1))
        case .integer(let value):
            hasher.combine(3 as UInt8)
            hasher.combine(value)
        case .real(let value):
            hasher.combine(4 as UInt8)
            hasher.combine(value.bitPattern)
        case .text(var value):
            hasher.combine(5 as UInt8)
            value.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .json(var value):
            hasher.combine(6 as UInt8)
            value.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .reference(let value):
            hasher.combine(7 as UInt8)
            hasher.combine(value)
        }
    }

    /// The value in the form that both sides store: zero has no sign, and JSON begins and ends without white space.
    ///
    /// SQLite does not keep negative zero, messages do not keep the white space around a JSON value, and equality
    /// compares bits. Without one form, a device and the server would hold different values of one field (S39).
    public var canonical: FieldValue {
        switch self {
        case .real(let number) where number == 0: .real(0)
        case .json(let text): .json(text.withoutOuterJSONSpace)
        default: self
        }
    }

    /// Whether there is no value. A JSON value of `null` is a value.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The size of this value as counted against limits and budgets, in bytes.
    public var byteCount: Int {
        switch self {
        case .null, .boolean: 1
        case .integer, .real: 8
        case .text(let value), .json(let value): value.utf8.count
        case .reference: 16
        }
    }
}

extension String {
    /// The text without the characters at its ends that JSON counts as white space (RFC 8259 §2).
    fileprivate var withoutOuterJSONSpace: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D }
        guard let first = utf8.first, let last = utf8.last, isSpace(first) || isSpace(last) else { return self }
        let start = utf8.firstIndex { !isSpace($0) } ?? utf8.endIndex
        let end = utf8[start...].lastIndex { !isSpace($0) }.map(utf8.index(after:)) ?? start
        return String(self[start..<end])
    }
}

/// The type of the values of a field.
public enum FieldType: String, Hashable, Sendable, CaseIterable {
    /// True or false.
    case boolean
    /// A signed 64-bit integer.
    case integer
    /// A finite double-precision number.
    case real
    /// Text, compared by its UTF-8 bytes.
    case text
    /// The id of a record in the target collection.
    case reference
    /// A JSON value of any kind, kept as text.
    case json
}

extension FieldValue {
    /// The type of this value; nil for null, which is a value of every type.
    public var type: FieldType? {
        switch self {
        case .null: nil
        case .boolean: .boolean
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .reference: .reference
        case .json: .json
        }
    }
}

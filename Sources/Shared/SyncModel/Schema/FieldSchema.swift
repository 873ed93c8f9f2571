/// One field of a collection: its type, its limits, and its merge rule.
public struct FieldSchema: Hashable, Sendable {
    /// The name on the wire and in the database, unique in the collection.
    public let name: FieldName
    /// The only type that the field accepts besides null.
    public let type: FieldType
    /// Whether a record must have a value in this field.
    public let isRequired: Bool
    /// Maximum length of text or JSON, in UTF-8 bytes.
    public let maximumBytes: Int
    /// Minimum length of text or JSON, in UTF-8 bytes.
    public let minimumBytes: Int
    /// The rule for two edits whose authors have not seen each other's.
    public let mergeRule: MergeRule
    /// For a reference: the collection that it refers to; nil for other types.
    public let target: CollectionName?
    /// For text and JSON: a rule that is checked in addition to the length; nil for none.
    public let rule: FieldRule?
    /// For numbers: the values that are allowed; nil for all.
    public private(set) var bounds: FieldBounds?
    /// The value that a new record gets, and that a record of an older build shows; null for none.
    public private(set) var defaultValue = FieldValue.null
    /// Whether a client's database has an index on this field.
    public private(set) var isIndexed = false
    /// Whether the integers are dates, in whole microseconds since 1970 (UTC). Programs show and read them as dates.
    public private(set) var isDate = false

    private init(
        name: FieldName, type: FieldType, isRequired: Bool, minimumBytes: Int, maximumBytes: Int, mergeRule: MergeRule,
        target: CollectionName?, rule: FieldRule? = nil
    ) {
        self.name = name
        self.type = type
        self.isRequired = isRequired
        self.minimumBytes = minimumBytes
        self.maximumBytes = maximumBytes
        self.mergeRule = mergeRule
        self.target = target
        self.rule = rule
    }

    /// Returns a field for text.
    ///
    /// - Parameter bytes: the length that a value may have, in UTF-8 bytes, up to `SchemaLimits.longestTextBytes`.
    public static func text(
        _ name: FieldName, required: Bool = false, bytes: ClosedRange<Int> = 0...SchemaLimits.textBytes,
        rule: FieldRule? = nil, merge: MergeRule = .latestEdit
    ) -> FieldSchema {
        FieldSchema(
            name: name, type: .text, isRequired: required, minimumBytes: bytes.lowerBound,
            maximumBytes: bytes.upperBound, mergeRule: merge, target: nil, rule: rule)
    }

    /// Returns a field for signed 64-bit integers. `bounded(by:)` narrows the range.
    public static func integer(_ name: FieldName, required: Bool = false, merge: MergeRule = .latestEdit) -> FieldSchema
    {
        plain(name, .integer, required, merge)
    }

    /// Returns a field for finite double-precision numbers. `bounded(by:)` narrows the range.
    public static func real(_ name: FieldName, required: Bool = false, merge: MergeRule = .latestEdit) -> FieldSchema {
        plain(name, .real, required, merge)
    }

    /// Returns a field for true and false. If it is not required, a record may have neither.
    public static func boolean(_ name: FieldName, required: Bool = false, merge: MergeRule = .latestEdit) -> FieldSchema
    {
        plain(name, .boolean, required, merge)
    }

    /// Returns a field for a JSON value. The value is merged as a whole and stored unchanged, so that content that this
    /// build does not know survives.
    public static func json(
        _ name: FieldName, required: Bool = false, bytes: ClosedRange<Int> = 0...SchemaLimits.textBytes,
        rule: FieldRule? = nil, merge: MergeRule = .latestEdit
    ) -> FieldSchema {
        FieldSchema(
            name: name, type: .json, isRequired: required, minimumBytes: bytes.lowerBound,
            maximumBytes: bytes.upperBound, mergeRule: merge, target: nil, rule: rule)
    }

    /// Returns a field for a reference to a record of `target` in the same space.
    ///
    /// The server rejects the delete of a record to which a *required* reference points. An optional reference to a
    /// deleted record keeps its value and resolves to no record.
    public static func reference(
        _ name: FieldName, to target: CollectionName, required: Bool = false, merge: MergeRule = .latestEdit
    ) -> FieldSchema {
        FieldSchema(
            name: name, type: .reference, isRequired: required, minimumBytes: 0, maximumBytes: 16, mergeRule: merge,
            target: target)
    }

    private static func plain(_ name: FieldName, _ type: FieldType, _ required: Bool, _ merge: MergeRule) -> FieldSchema
    {
        FieldSchema(
            name: name, type: type, isRequired: required, minimumBytes: 0, maximumBytes: 8, mergeRule: merge,
            target: nil)
    }
}

extension FieldSchema {
    /// Returns the same field with an index in the databases of clients.
    public func indexed() -> FieldSchema {
        var field = self
        field.isIndexed = true
        return field
    }

    /// Returns the same integer field, whose values are dates.
    public func holdingDates() -> FieldSchema {
        precondition(type == .integer, "\(name) is not an integer field")
        var field = self
        field.isDate = true
        return field
    }

    /// Returns the same field with a range for its numbers. The range of a real field must be finite.
    public func bounded(by bounds: FieldBounds) -> FieldSchema {
        var field = self
        field.bounds = bounds
        return field
    }

    /// Returns the same field with a default value.
    public func defaulting(to value: FieldValue) -> FieldSchema {
        var field = self
        field.defaultValue = value.canonical
        return field
    }
}

/// The numbers that a field allows.
public enum FieldBounds: Hashable, Sendable, CustomStringConvertible {
    /// The numbers of an integer field, both ends included.
    case integer(ClosedRange<Int64>)
    /// The numbers of a real field, both ends included.
    case real(ClosedRange<Double>)

    /// The numbers, as they are written in messages: `0 to 5`.
    public var description: String {
        switch self {
        case .integer(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .real(let range): "\(range.lowerBound) to \(range.upperBound)"
        }
    }

    /// Returns the end of a sentence that begins with the field, or nil if the value is allowed.
    func problem(with value: FieldValue) -> String? {
        switch (self, value) {
        case (.integer(let range), .integer(let number)) where !range.contains(number):
            "is \(number); expected \(self)"
        case (.real(let range), .real(let number)) where !range.contains(number):
            "is \(number); expected \(self)"
        default: nil
        }
    }
}

/// An error in a value for a field. The description names the field and the problem.
public struct InvalidValueError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The collection of the record.
    public let collection: CollectionName
    /// The field with the value, as it was named. The collection may not have it.
    public let field: FieldName
    /// The first problem that was found.
    public let problem: Problem

    /// The ways in which a value can be invalid.
    public enum Problem: Hashable, Sendable {
        /// A required field has no value.
        case missing
        /// The collection has no field with this name.
        case unknownField
        /// The value has another type than the field. Numbers are not converted.
        case wrongType(expected: FieldType, found: FieldType)
        /// The text or JSON has fewer UTF-8 bytes than the field requires.
        case tooShort(bytes: Int, minimum: Int)
        /// The text or JSON has more UTF-8 bytes than the field allows.
        case tooLong(bytes: Int, maximum: Int)
        /// The arrays and objects of the JSON are nested more deeply than a field may hold.
        case tooDeep(maximum: Int)
        /// The text or JSON contains U+0000, which databases cannot store in text.
        case containsNUL
        /// The number is infinite or not a number, which JSON cannot represent.
        case notFinite
        /// The value breaks the field's rule. The text completes a sentence that begins with the name of the field.
        case breaksRule(String)
    }

    /// Creates an error for a value that was checked by other means than a `ModelSchema`.
    public init(collection: CollectionName, field: FieldName, problem: Problem) {
        self.collection = collection
        self.field = field
        self.problem = problem
    }

    public var description: String {
        let place = "\(collection).\(field)"
        return switch problem {
        case .missing: "\(place) is required and has no value"
        case .unknownField: "\(place): there is no such field"
        case .wrongType(let expected, let found): "\(place) holds \(expected.rawValue), not \(found.rawValue)"
        case .tooShort(0, _): "\(place) is empty"
        case .tooShort(let bytes, let minimum): "\(place) is too short: \(bytes) bytes; expected at least \(minimum)"
        case .tooLong(let bytes, let maximum): "\(place) is too long: \(bytes) bytes, at most \(maximum) allowed"
        case .tooDeep(let maximum): "\(place) is JSON nested too deeply: at most \(maximum) levels are allowed"
        case .containsNUL: "\(place) contains U+0000, which cannot be stored"
        case .notFinite: "\(place) is not a finite number"
        case .breaksRule(let words): "\(place) \(words)"
        }
    }
}

extension FieldSchema {
    /// Returns the problem with a value for this field, or nil.
    ///
    /// A null value is a problem only if the field is required. `ModelSchema.check(creating:)` finds required fields
    /// that are absent.
    public func problem(with value: FieldValue) -> InvalidValueError.Problem? {
        guard let found = value.type else { return isRequired ? .missing : nil }
        guard found == type else { return .wrongType(expected: type, found: found) }
        switch value {
        case .text(let text), .json(let text):
            let bytes = text.utf8.count
            if bytes < minimumBytes { return .tooShort(bytes: bytes, minimum: minimumBytes) }
            if bytes > maximumBytes { return .tooLong(bytes: bytes, maximum: maximumBytes) }
            if text.utf8.contains(0) { return .containsNUL }
            if type == .json, JSONNesting.depth(of: text.utf8) > SchemaLimits.jsonDepth {
                return .tooDeep(maximum: SchemaLimits.jsonDepth)
            }
            return rule?.problem(text).map { .breaksRule($0) }
        case .real(let number):
            guard number.isFinite else { return .notFinite }
            return bounds?.problem(with: value).map { .breaksRule($0) }
        case .integer:
            return bounds?.problem(with: value).map { .breaksRule($0) }
        case .null, .boolean, .reference:
            return nil
        }
    }
}

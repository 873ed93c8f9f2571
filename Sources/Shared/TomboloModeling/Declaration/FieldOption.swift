public import SyncModel

/// An option of a field: whether it is required, its limits, its rule, its merge rule, and its index.
public struct FieldOption<Value: ModelValue>: Sendable {
    let settings: [FieldSetting]

    init(_ setting: FieldSetting) {
        settings = [setting]
    }

    var isRequired: Bool { settings.contains { if case .required = $0 { true } else { false } } }

    var rule: FieldRule? {
        for case .rule(let rule) in settings { return rule }
        return nil
    }

    /// A record must have a value. Clients check it when a record is saved, and the server when it applies a
    /// transaction.
    public static var required: FieldOption { FieldOption(.required) }

    /// Each client's database gets an index on the field, which queries use.
    public static var indexed: FieldOption { FieldOption(.indexed) }

    /// How concurrent edits of the field are merged. The default is `latestEdit`.
    public static func merge(_ rule: MergeRule) -> FieldOption { FieldOption(.merge(rule)) }
}

extension FieldOption where Value.Base: TextualValue {
    /// The allowed length of the text in UTF-8 bytes. For JSON, the length of the encoded text.
    public static func length(_ bytes: ClosedRange<Int>) -> FieldOption { FieldOption(.length(bytes)) }

    /// A rule that both the client and the server check. The text is normalized by the rule before it is stored. A
    /// field has at most one rule.
    public static func rule(_ rule: FieldRule) -> FieldOption { FieldOption(.rule(rule)) }
}

extension FieldOption where Value.Base == Int {
    /// The allowed numbers, including both bounds.
    public static func range(_ range: ClosedRange<Int>) -> FieldOption {
        FieldOption(.bounds(.integer(Int64(range.lowerBound)...Int64(range.upperBound))))
    }
}

extension FieldOption where Value.Base == Double {
    /// The allowed numbers, including both bounds, which must be finite.
    public static func range(_ range: ClosedRange<Double>) -> FieldOption { FieldOption(.bounds(.real(range))) }
}

/// An option of a reference.
public struct ReferenceOption: Sendable {
    let settings: [FieldSetting]

    /// A record must have a reference, and the server refuses to delete the record to which it points.
    public static let required = ReferenceOption(settings: [.required])

    /// Each client's database gets an index on the reference, which queries use.
    public static let indexed = ReferenceOption(settings: [.indexed])

    /// How concurrent edits of the reference are merged. The default is `latestEdit`.
    public static func merge(_ rule: MergeRule) -> ReferenceOption { ReferenceOption(settings: [.merge(rule)]) }
}

enum FieldSetting: Sendable {
    case required
    case indexed
    case merge(MergeRule)
    case length(ClosedRange<Int>)
    case rule(FieldRule)
    case bounds(FieldBounds)
}

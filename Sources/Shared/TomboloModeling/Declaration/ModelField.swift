import FoundationEssentials
public import SyncModel

/// One field of a model: the name under which it is stored, its options, and its default.
///
/// Write `Field<Value>` inside a model. If a record has no value in the field, such as a record of an older build, an
/// optional field reads as nil. Any other field reads as its default, or, without one, as the empty value of its type.
public struct ModelField<M: Model, Value: ModelValue>: Sendable {
    /// The name on the wire and in the database.
    public let name: String

    /// The value that a program reads if the record has none: nil for an optional field, even if new records have a
    /// default, because the user may have removed the value.
    @usableFromInline package let fallback: Value

    @usableFromInline package let key: FieldKey
    /// The rule of a text field, which normalizes values before they are stored or compared; nil for none.
    private let rule: FieldRule?
    /// The value that stands for a missing one in conditions and sort orders; null if a missing value stays missing
    /// there, as in an optional field.
    package let missing: FieldValue

    /// Declares a field.
    ///
    /// - Parameters:
    ///   - name: the name on the wire and in the database: a lower-case letter, then up to 62 lower-case letters,
    ///     digits, or underscores.
    ///   - options: for example `.required`, `.indexed`, or `.length(1...200)`.
    ///   - value: the value of a new record, and, unless the field is optional, of a record of an older build. It is
    ///     normalized by the rule of the field. Without a default, an optional field has no value, a required field
    ///     must be set, and any other field has the empty value of its type.
    public init(_ name: String, _ options: FieldOption<Value>..., default value: Value? = nil) {
        self.name = name
        let isRequired = options.contains(where: \.isRequired)
        rule = options.lazy.compactMap(\.rule).first
        // Without a default, a required value has to be set, and an optional value may be missing.
        let initial = value ?? (Value.isOptional || isRequired ? nil : Value.empty)
        let stored = Self.normalized(initial?.storedOrNull ?? .null, rule)
        // A record of an older build shows the same default as a new record, in the canonical form of the rule.
        let normalized = rule == nil || stored.isNull ? nil : Value(stored: stored)
        fallback = Value.isOptional ? .empty : normalized ?? value ?? .empty
        missing = Value.isOptional ? .null : stored
        key = SchemaBuilder.register(
            FieldDeclaration(
                name: name, type: Value.storage, isDate: Value.Base.self == Date.self, target: nil,
                settings: options.flatMap(\.settings),
                defaultValue: stored, defaultProblem: value?.storageProblem))
    }
}

extension ModelField {
    /// Returns the value in the form in which it is stored; nil if it cannot be stored.
    package func stored(_ value: some ModelValue) -> FieldValue? {
        value.stored.map { Self.normalized($0, rule) }
    }

    /// Returns a text in the canonical form of the field's rule.
    func normalized(_ text: String) -> String {
        rule?.normalized(text) ?? text
    }

    private static func normalized(_ value: FieldValue, _ rule: FieldRule?) -> FieldValue {
        guard let rule, case .text(let text) = value else { return value }
        return .text(rule.normalized(text))
    }

    /// Returns the value that is read from a stored one.
    @inlinable
    package func value(_ stored: FieldValue) -> Value {
        if stored.isNull { return fallback }
        return Value(stored: stored) ?? fallback
    }
}

/// A field of a model that refers to a record of another model. Write `Reference<Other>` inside a model.
///
/// A reference is optional unless it has the option `.required`. A record cannot be deleted while a required reference
/// points to it. An optional reference to a deleted record reads as nil.
public struct ModelReference<M: Model, Other: Model>: Sendable {
    /// The name on the wire and in the database.
    public let name: String

    package let key: FieldKey

    /// Declares a reference with its name on the wire and in the database, and its options.
    public init(_ name: String, _ options: ReferenceOption...) {
        self.name = name
        key = SchemaBuilder.register(
            FieldDeclaration(
                name: name, type: .reference, isDate: false, target: Other.self, settings: options.flatMap(\.settings),
                defaultValue: .null, defaultProblem: nil))
    }
}

/// The position and the name of a field in its model.
@usableFromInline
package struct FieldKey: Hashable, Sendable {
    /// The position among the fields; −1 for a field that was not created by the initializer of its model.
    @usableFromInline package let slot: Int
    package let name: FieldName

    package init(slot: Int, name: FieldName) {
        self.slot = slot
        self.name = name
    }
}

extension FieldKey {
    /// Returns the error of a field that was not registered; nil for all others.
    package func problem(in collection: String) -> ModelDeclarationError? {
        guard slot < 0 else { return nil }
        return ModelDeclarationError(
            .computedField, collection: collection, field: name.rawValue,
            """
            \(collection).\(name) was not created by the initializer of its model; a field must be a stored property, \
            written `let \(name) = Field<…>("\(name)")`, and not a computed or static one
            """)
    }
}

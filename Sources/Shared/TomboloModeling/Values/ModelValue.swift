public import SyncModel

/// A type that a field of a model can hold.
///
/// The library makes these types conform: `String`, `Int`, `Double`, `Bool`, `Date`, `UUID`, ``JSON``, and the
/// optionals of all types that conform. Enumerations conform through ``ModelEnum``.
public protocol ModelValue: Equatable, Sendable {
    /// The type without its optionality: `Date` for `Date?`, and `Date` for `Date`.
    associatedtype Base: ModelValue where Base.Base == Base

    /// The kind of value in the database and on the wire.
    static var storage: FieldType { get }

    /// Whether a field of this type may have no value.
    static var isOptional: Bool { get }

    /// The value that a field shows if a record has none and the field has no default.
    static var empty: Self { get }

    /// Reads a stored value; nil if the value cannot be read. A missing value is read only as an optional.
    init?(stored: FieldValue)

    /// The value as it is stored; nil if it cannot be stored.
    var stored: FieldValue? { get }

    /// Other stored forms that read as this value, as other programs may write them. Conditions find these, too.
    var otherForms: [FieldValue] { get }

    /// Why the value cannot be stored; nil if it can.
    var storageProblem: String? { get }
}

extension ModelValue {
    /// Whether a field of this type may have no value: false.
    public static var isOptional: Bool { false }

    public var otherForms: [FieldValue] { [] }

    public var storageProblem: String? { nil }

    package var storedOrNull: FieldValue { stored ?? .null }
}

/// A value that queries can compare by order.
public protocol OrderedValue: ModelValue {}

/// A value that is stored as text or JSON, and has a length in bytes.
public protocol TextualValue: ModelValue {}

extension Optional: ModelValue where Wrapped: ModelValue, Wrapped.Base == Wrapped {
    public typealias Base = Wrapped

    public static var storage: FieldType { Wrapped.storage }
    public static var isOptional: Bool { true }
    public static var empty: Wrapped? { nil }

    public init?(stored: FieldValue) {
        if stored.isNull {
            self = .none
        } else if let value = Wrapped(stored: stored) {
            self = .some(value)
        } else {
            return nil
        }
    }

    public var stored: FieldValue? {
        switch self {
        case nil: .null
        case let value?: value.stored
        }
    }

    public var storageProblem: String? { flatMap(\.storageProblem) }
}

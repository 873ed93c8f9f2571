public import SyncModel

/// An enumeration that a field can hold. Its raw values are stored.
///
/// ```swift
/// enum Priority: String, ModelEnum {
///     case low, normal, high
///     static let fallback = Priority.normal
/// }
/// ```
///
/// A raw value that this build does not know, for example one of a newer build, reads as ``fallback``. The raw value
/// stays in the record until another value is set.
public protocol ModelEnum: ModelValue, RawRepresentable
where RawValue: ModelValue, RawValue.Base == RawValue, Base == Self {
    /// The value that stands for all raw values that this build does not know.
    static var fallback: Self { get }
}

extension ModelEnum {
    public static var storage: FieldType { RawValue.storage }
    public static var empty: Self { fallback }

    public init?(stored: FieldValue) {
        guard let raw = RawValue(stored: stored) else { return nil }
        self = Self(rawValue: raw) ?? Self.fallback
    }

    public var stored: FieldValue? { rawValue.stored }
    public var otherForms: [FieldValue] { rawValue.otherForms }
}

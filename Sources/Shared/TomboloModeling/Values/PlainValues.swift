public import FoundationEssentials
public import SyncModel

extension String: OrderedValue, TextualValue {
    public typealias Base = String
    public static var storage: FieldType { .text }
    public static var empty: String { "" }

    public init?(stored: FieldValue) {
        guard case .text(let text) = stored else { return nil }
        self = text
    }

    public var stored: FieldValue? { .text(self) }
}

extension Int: OrderedValue {
    public typealias Base = Int
    public static var storage: FieldType { .integer }
    public static var empty: Int { 0 }

    public init?(stored: FieldValue) {
        guard case .integer(let number) = stored else { return nil }
        self = Int(clamping: number)
    }

    public var stored: FieldValue? { .integer(Int64(self)) }
}

extension Double: OrderedValue {
    public typealias Base = Double
    public static var storage: FieldType { .real }
    public static var empty: Double { 0 }

    public init?(stored: FieldValue) {
        guard case .real(let number) = stored else { return nil }
        self = number
    }

    public var stored: FieldValue? { isFinite ? FieldValue.real(self).canonical : nil }
    public var storageProblem: String? { isFinite ? nil : "\(self) is not a finite number" }
}

extension Bool: ModelValue {
    public typealias Base = Bool
    public static var storage: FieldType { .boolean }
    public static var empty: Bool { false }

    public init?(stored: FieldValue) {
        guard case .boolean(let value) = stored else { return nil }
        self = value
    }

    public var stored: FieldValue? { .boolean(self) }
}

/// Stored as whole microseconds since 1970 (UTC), so a date is rounded to the nearest microsecond.
extension Date: OrderedValue {
    public typealias Base = Date
    public static var storage: FieldType { .integer }
    public static var empty: Date { Date(timeIntervalSince1970: 0) }

    public init?(stored: FieldValue) {
        guard case .integer(let microseconds) = stored else { return nil }
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        self.init(timeIntervalSince1970: Double(seconds) + Double(rest) / 1_000_000)
    }

    public var stored: FieldValue? {
        Int64(exactly: (timeIntervalSince1970 * 1_000_000).rounded()).map { .integer($0) }
    }
    public var storageProblem: String? { stored == nil ? "the date is out of range: \(timeIntervalSince1970) s" : nil }
}

extension UUID: ModelValue {
    public typealias Base = UUID
    public static var storage: FieldType { .text }
    public static var empty: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }

    public init?(stored: FieldValue) {
        guard case .text(let text) = stored else { return nil }
        self.init(uuidString: text)
    }

    public var stored: FieldValue? { .text(uuidString.lowercased()) }
}

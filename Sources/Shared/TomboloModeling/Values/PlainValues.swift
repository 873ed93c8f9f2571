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
///
/// Every stored date from 1729 to 2273 reads back exactly. Beyond, whole seconds do: a `Date` cannot hold a
/// microsecond.
extension Date: OrderedValue {
    public typealias Base = Date
    public static var storage: FieldType { .integer }
    public static var empty: Date { Date(timeIntervalSince1970: 0) }

    // A date holds seconds since 2001. A detour over seconds since 1970 would round twice.
    private static var microsecondsTo2001: Int64 { 978_307_200_000_000 }

    public init?(stored: FieldValue) {
        guard case .integer(let microseconds) = stored else { return nil }
        let (since2001, overflow) = microseconds.subtractingReportingOverflow(Self.microsecondsTo2001)
        let (seconds, rest) = (overflow ? .min : since2001).quotientAndRemainder(dividingBy: 1_000_000)
        self.init(timeIntervalSinceReferenceDate: Double(seconds) + Double(rest) / 1_000_000)
    }

    public var stored: FieldValue? {
        let whole = timeIntervalSinceReferenceDate.rounded(.down)
        guard let seconds = Int64(exactly: whole) else { return nil }
        // The difference is exact, unlike the product of the whole time.
        let rest = Int64(((timeIntervalSinceReferenceDate - whole) * 1_000_000).rounded())
        let (since2001, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (microseconds, overflow) = since2001.addingReportingOverflow(Self.microsecondsTo2001 + rest)
        return isTooFar || overflow ? nil : .integer(microseconds)
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

    /// The form in upper case, in which many programs export a UUID.
    public var otherForms: [FieldValue] { uuidString.contains(where: \.isLetter) ? [.text(uuidString)] : [] }
}

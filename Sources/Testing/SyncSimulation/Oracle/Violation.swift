/// A violation of an invariant.
public struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    public let invariant: Invariant
    public let text: String

    public init(_ invariant: Invariant, _ text: String) {
        self.invariant = invariant
        self.text = text
    }

    public var description: String { "\(invariant.rawValue): \(text)" }
}

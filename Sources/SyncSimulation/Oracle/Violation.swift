/// A promise that was broken, by its number in the list of invariants.
public struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    /// "I1" to "I25".
    public let invariant: String
    public let text: String

    public init(_ invariant: String, _ text: String) {
        self.invariant = invariant
        self.text = text
    }

    public var description: String { "\(invariant): \(text)" }
}

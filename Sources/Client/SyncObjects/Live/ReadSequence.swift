/// The sequence number of a read of the source, taken when the read begins.
///
/// The result of a read never replaces the result of a read that began later.
struct ReadSequence: Comparable, Sendable {
    let number: Int
    /// The number of changes of the source that had been absorbed when the read began.
    let absorbed: Int

    static let none = ReadSequence(number: 0, absorbed: 0)

    static func < (left: ReadSequence, right: ReadSequence) -> Bool { left.number < right.number }
}

/// The number of a read of the source, taken when the read begins.
///
/// A result never replaces that of a later read.
struct ReadSequence: Comparable, Sendable {
    let number: Int

    static let none = ReadSequence(number: 0)

    static func < (left: ReadSequence, right: ReadSequence) -> Bool { left.number < right.number }
}

/// A look at the source, counted when it is begun: what was seen later is never replaced by what was seen before.
struct Look: Comparable, Sendable {
    let number: Int

    static let none = Look(number: 0)

    static func < (left: Look, right: Look) -> Bool { left.number < right.number }
}

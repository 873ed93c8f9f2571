/// A generator that notes each number it gives, in a list that outlives its copies.
struct NotingRandom: RandomNumberGenerator {
    final class Draws {
        fileprivate(set) var numbers: [UInt64] = []
    }

    private var source: RuntimeRandom
    let draws = Draws()

    init(_ source: RuntimeRandom) {
        self.source = source
    }

    mutating func next() -> UInt64 {
        let number = source.next()
        draws.numbers.append(number)
        return number
    }
}

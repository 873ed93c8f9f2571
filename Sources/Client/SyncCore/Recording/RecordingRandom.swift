/// A generator that records each number it returns, in a list that its copies share.
struct RecordingRandom: RandomNumberGenerator {
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

/// Finds what somebody may have meant by a name that does not exist.
package enum NearestName {
    /// The closest of `names`, when it is close enough to be a slip of the finger.
    package static func suggestion(for word: String, among names: [String]) -> String? {
        let allowed = max(2, word.count / 3)
        return names.map { (name: $0, distance: distance($0, word)) }
            .filter { $0.distance <= allowed }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// How many letters have to be added, removed or changed to get from one word to the other.
    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(longest).utf8)
        let right = Array(right.prefix(longest).utf8)
        var previous = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                current.append(
                    min(previous[column] + (letter == other ? 0 : 1), previous[column + 1] + 1, current[column] + 1))
            }
            previous = current
        }
        return previous[right.count]
    }

    /// The cost is quadratic, and no name of ours is longer.
    private static let longest = 64
}

/// Finds the existing name that is closest to an unknown one.
package enum NearestName {
    /// Returns the closest of `names`; nil when none is close enough to be a typing error. Case does not count.
    package static func suggestion(for word: String, among names: [String]) -> String? {
        let allowed = max(2, word.count / 3)
        let word = word.lowercased()
        return names.map { (name: $0, distance: distance($0.lowercased(), word)) }
            .filter { $0.distance <= allowed }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// Returns the edit distance: the number of bytes to insert, delete, or replace.
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

    /// The maximum length that is compared. The cost is quadratic, and no known name is longer.
    private static let longest = 64
}

/// Puts things that refer to each other into groups: each refers only to itself and to groups before it. What refers to
/// each other in a circle is one group.
///
/// They are the strongly connected components of a graph, in an order from its leaves (Tarjan, "Depth-First Search and Linear
/// Graph Algorithms", 1972), found without recursion: a chain may be as long as there are records.
public enum ReferenceGroups {
    /// - Parameter references: to which places, from 0, each place refers; others do not count.
    /// - Returns: the places, each once. The same input gives the same order.
    public static func of(_ references: [[Int]]) -> [[Int]] {
        var search = Search(references: references)
        for place in references.indices { search.visit(place) }
        return search.groups
    }

    private struct Search {
        let references: [[Int]]
        var groups: [[Int]] = []
        /// When each place was first met; 0 for never.
        private var met: [Int]
        /// The earliest place, by `met`, that is known to be in its circle.
        private var low: [Int]
        /// Those that are in no group yet, in the order in which they were met.
        private var open: [Int] = []
        private var isOpen: [Bool]
        private var clock = 0

        init(references: [[Int]]) {
            self.references = references
            met = Array(repeating: 0, count: references.count)
            low = met
            isOpen = Array(repeating: false, count: references.count)
        }

        mutating func visit(_ start: Int) {
            guard met[start] == 0 else { return }
            enter(start)
            var path = [(place: start, next: 0)]
            while let (place, next) = path.last {
                guard next < references[place].count else {
                    path.removeLast()
                    if let parent = path.last?.place { low[parent] = min(low[parent], low[place]) }
                    if low[place] == met[place] { close(place) }
                    continue
                }
                path[path.count - 1].next += 1
                let other = references[place][next]
                guard references.indices.contains(other) else { continue }
                if met[other] == 0 {
                    enter(other)
                    path.append((other, 0))
                } else if isOpen[other] {
                    low[place] = min(low[place], met[other])
                }
            }
        }

        private mutating func enter(_ place: Int) {
            clock += 1
            met[place] = clock
            low[place] = clock
            open.append(place)
            isOpen[place] = true
        }

        /// All that was met since `first` and is in no group yet is in its circle.
        private mutating func close(_ first: Int) {
            var group: [Int] = []
            while let place = open.popLast() {
                isOpen[place] = false
                group.append(place)
                if place == first { break }
            }
            groups.append(group.sorted())
        }
    }
}

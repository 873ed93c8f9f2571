/// Groups nodes by their references: each group refers only to itself and to earlier groups. The nodes of a reference
/// cycle form one group.
///
/// The groups are the strongly connected components of a graph, ordered from its leaves (Tarjan, "Depth-First Search
/// and Linear Graph Algorithms", 1972). The search does not recurse, because a chain of references may be as long as
/// the number of records.
public enum ReferenceGroups {
    /// Returns the groups of a reference graph.
    ///
    /// - Parameter references: for each node, counted from 0, the nodes that it refers to. Numbers out of range are
    ///   ignored.
    /// - Returns: the groups. Each node occurs once. The same input gives the same order.
    public static func of(_ references: [[Int]]) -> [[Int]] {
        var search = Search(references: references)
        for place in references.indices { search.visit(place) }
        return search.groups
    }

    private struct Search {
        let references: [[Int]]
        var groups: [[Int]] = []
        /// The order in which each node was visited, counted from 1; 0 for a node that was not visited.
        private var met: [Int]
        /// For each node, the smallest `met` of a node that is known to be in the same cycle.
        private var low: [Int]
        /// The nodes that are in no group yet, in the order in which they were visited.
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

        /// Closes a group: `first`, and the nodes that were visited after `first` and that are in no group yet.
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

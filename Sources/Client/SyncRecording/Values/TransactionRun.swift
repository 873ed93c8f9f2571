import SyncModel

/// A run of transactions of one space with consecutive numbers.
struct TransactionRun: Hashable {
    let first: Int64
    var count: Int64
    let space: SpaceID

    /// Groups transactions into runs, in their order.
    static func runs(of transactions: [NumberedTransaction]) -> [TransactionRun] {
        transactions.reduce(into: []) { runs, numbered in
            let (number, space) = (numbered.number.rawValue, numbered.transaction.space)
            if let last = runs.last, last.first + last.count == number, last.space == space {
                runs[runs.count - 1].count += 1
            } else {
                runs.append(TransactionRun(first: number, count: 1, space: space))
            }
        }
    }
}

extension TransactionRun: CustomStringConvertible {
    var description: String {
        let numbers = count == 1 ? "\(first)" : "\(first)...\(first + count - 1)"
        return space == .default ? numbers : "\(numbers) in \(space)"
    }
}

import SyncCore
import Testing

/// The order in which several entries of the journal are restored.
@Suite struct RestoreQueueTests {
    /// Takes entries from the queue until it is empty. Returns their order and the entries that failed.
    ///
    /// - Parameter refusal: Returns the reason why the entry is refused, given the entries that are restored already.
    private static func run(
        _ entries: [Int64], _ refusal: (Int64, Set<Int64>) -> StoreError.Code?
    ) throws -> (tried: [Int64], failed: [Int64]) {
        var queue = RestoreQueue(entries)
        var restored: Set<Int64> = []
        var tried: [Int64] = []
        while let entry = queue.next() {
            tried.append(entry)
            if let code = refusal(entry, restored) {
                try queue.refused(StoreError(code, "entry \(entry)"))
            } else {
                restored.insert(entry)
            }
        }
        #expect(queue.next() == nil)
        for failure in queue.failures { #expect(failure.error.message == "entry \(failure.entry)") }
        return (tried, queue.failures.map(\.entry))
    }

    @Test func `entries are restored in the given order`() throws {
        let (tried, failed) = try Self.run([3, 1, 2]) { _, _ in nil }
        #expect(tried == [3, 1, 2] && failed.isEmpty)
        #expect(try Self.run([]) { _, _ in nil }.tried.isEmpty)
    }

    @Test(arguments: [StoreError.Code.danglingReference, .missingRecord])
    func `an entry that needs missing records waits for the entries that create them`(code: StoreError.Code) throws {
        // Each entry needs a record that the next one creates.
        let (tried, failed) = try Self.run([1, 2, 3]) { entry, restored in
            entry == 3 || restored.contains(entry + 1) ? nil : code
        }
        #expect(tried == [1, 2, 3, 1, 2, 1] && failed.isEmpty)
    }

    @Test func `an entry waits for as long as others are restored or fail, and then fails itself`() throws {
        let (tried, failed) = try Self.run([1, 2, 3]) { entry, _ in
            switch entry {
            case 1: .danglingReference
            case 2: .invalidValue
            default: nil
            }
        }
        #expect(tried == [1, 2, 3, 1] && failed == [2, 1])
    }

    @Test(arguments: [StoreError.Code.duplicateRecord, .invalidValue, .tooLarge])
    func `an entry that cannot be restored does not hold up the others`(code: StoreError.Code) throws {
        let (tried, failed) = try Self.run([1, 2]) { entry, _ in entry == 1 ? code : nil }
        #expect(tried == [1, 2] && failed == [1])
    }

    @Test(arguments: [StoreError.Code.entryIsFrozen, .diskFull, .outboxFull])
    func `an error that others would meet, too, ends the restore`(code: StoreError.Code) {
        #expect(throws: StoreError(code, "entry 1")) {
            try Self.run([1, 2]) { entry, _ in entry == 1 ? code : nil }
        }
    }
}

package import SyncModel

/// Edits of one field by several devices, none of which has seen an edit of another one.
package struct ConcurrentEdits {
    /// The number of devices.
    package let devices: Int64
    /// The number of edits of each device.
    package let edits: Int64
    /// The edited users have the uids below this number. It is small enough for edits to meet.
    package let edited: Int64

    package init(devices: Int64, edits: Int64, edited: Int64) {
        self.devices = devices
        self.edits = edits
        self.edited = edited
    }

    /// Returns the pushes of all devices, one device after the other.
    ///
    /// - Parameters:
    ///   - round: distinguishes the devices and values of several calls.
    ///   - batch: the number of transactions in a push. Each has one edit.
    package func pushes(round: Int64, batch: Int64) -> [PushRequest] {
        (0..<devices).flatMap { device in
            let client = ClientID(bits: Identifier128(high: UInt64(round), low: UInt64(device) + 1))
            let identity = ClientIdentity(client: client, incarnation: 0)
            return stride(from: 0, to: edits, by: Int(batch)).map { first in
                PushRequest(
                    identity: identity, epoch: nil, acknowledged: TransactionNumber(first),
                    transactions: (first..<min(edits, first + batch)).map { number in
                        let index = (round * devices + device) * edits + number
                        let uid = Int64(SimulatedUsers.mix(UInt64(index)) % UInt64(edited))
                        let mutation = SimulatedWriter.rename(
                            uid, to: "edit \(index) of a value", at: index, seen: SimulatedWriter.version(of: uid))
                        return NumberedTransaction(
                            number: TransactionNumber(number), hash: PayloadHash(rawValue: "\(index)"),
                            transaction: Transaction(space: .default, mutations: [mutation]))
                    })
            }
        }
    }
}

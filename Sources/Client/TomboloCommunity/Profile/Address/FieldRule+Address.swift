import SyncModel

extension FieldRule {
    /// An address as JSON. The parts of known kinds are checked; other kinds are kept whole.
    static let address = FieldRule(name: "address") { json in
        do throws(InvalidAddressError) {
            try AddressCodec.address(json: json).validate()
            return nil
        } catch {
            return "is not a valid address: \(error)"
        }
    }
}

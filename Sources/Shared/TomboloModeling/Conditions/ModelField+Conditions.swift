public import SyncModel

// Each operator has one concrete type on its right side, and is a member of the field's type: long conditions then
// type-check in milliseconds. A field of a Bool alone is not a condition: with further overloads of && and ||, the
// compiler does not find a misspelled field in a long condition, and gives up after half a minute.

extension ModelField {
    /// True if the field has this value; nil finds the records without a value.
    public static func == (field: ModelField, value: Value.Base?) -> ModelCondition<M> {
        field.comparison(.equal, value)
    }

    /// True if the field has another value, or no value.
    public static func != (field: ModelField, value: Value.Base?) -> ModelCondition<M> {
        field.comparison(.notEqual, value)
    }

    /// True if the record has no value in this field.
    public var isNil: ModelCondition<M> { condition(RecordFilter(key.name, equals: .null)) }

    /// True if the field has one of the values.
    public func `in`(_ values: [Value.Base]) -> ModelCondition<M> {
        let list = values.compactMap { self.stored($0) }
        var filter = RecordFilter.isIn(key.name, list + values.flatMap(\.otherForms))
        if !missing.isNull, list.contains(missing) { filter = filter || RecordFilter(key.name, equals: .null) }
        return condition(filter, unstorable: list.count < values.count)
    }

    private func comparison(_ comparison: RecordFilter.Comparison, _ value: Value.Base?) -> ModelCondition<M> {
        guard let value else { return condition(.compare(.field(key.name), comparison, .null)) }
        guard let stored = stored(value) else { return condition(.any([]), unstorable: true) }
        var filter = RecordFilter.compare(.field(key.name), comparison, stored)
        if !value.otherForms.isEmpty, comparison == .equal || comparison == .notEqual {
            let isEqual = RecordFilter.isIn(key.name, [stored] + value.otherForms)
            filter = comparison == .equal ? isEqual : !isEqual
        }
        // A record of an older build has no value, and reads as the default.
        if !missing.isNull {
            let isMissing = RecordFilter(key.name, equals: .null)
            if comparison.holds(missing, stored) {
                filter = filter || isMissing
            } else if comparison == .notEqual {
                filter = filter && !isMissing
            }
        }
        return condition(filter)
    }

    private func condition(_ filter: RecordFilter, unstorable: Bool = false) -> ModelCondition<M> {
        var problem = key.problem(in: M.collection)
        if unstorable {
            problem =
                problem
                ?? ModelDeclarationError(
                    .invalidValue, collection: M.collection, field: name,
                    "\(M.collection).\(name) was compared with a value that cannot be stored")
        }
        return ModelCondition(filter, problem: problem)
    }
}

extension ModelField where Value.Base: OrderedValue {
    /// Matches records in which the value is less than the given one.
    public static func < (field: ModelField, value: Value.Base) -> ModelCondition<M> { field.comparison(.less, value) }

    /// Matches records in which the value is at most the given one.
    public static func <= (field: ModelField, value: Value.Base) -> ModelCondition<M> {
        field.comparison(.lessOrEqual, value)
    }

    /// Matches records in which the value is greater than the given one.
    public static func > (field: ModelField, value: Value.Base) -> ModelCondition<M> {
        field.comparison(.greater, value)
    }

    /// Matches records in which the value is at least the given one.
    public static func >= (field: ModelField, value: Value.Base) -> ModelCondition<M> {
        field.comparison(.greaterOrEqual, value)
    }
}

extension ModelField where Value.Base == Bool {
    /// True if the field is false.
    public static prefix func ! (field: ModelField) -> ModelCondition<M> { field == false }
}

extension ModelField where Value.Base == String {
    /// True if the text begins with these bytes. The comparison is case-sensitive. As in other conditions, the rule of
    /// the field normalizes the prefix first.
    public func hasPrefix(_ prefix: String) -> ModelCondition<M> {
        let prefix = normalized(prefix)
        return condition(.hasPrefix(key.name, prefix)) { $0.utf8.starts(with: prefix.utf8) }
    }

    /// True if the text contains these bytes. The comparison is case-sensitive, and reads every record. As in other
    /// conditions, the rule of the field normalizes the part first.
    public func contains(_ part: String) -> ModelCondition<M> {
        let part = normalized(part)
        return condition(.contains(key.name, part)) { Array($0.utf8).firstRange(of: Array(part.utf8)) != nil }
    }

    /// Returns a condition that a record without a value meets if the default does.
    private func condition(_ filter: RecordFilter, _ isMet: (_ text: String) -> Bool) -> ModelCondition<M> {
        guard case .text(let text) = missing, isMet(text) else { return condition(filter) }
        return condition(filter || RecordFilter(key.name, equals: .null))
    }
}

extension ModelReference {
    /// True if the reference leads to this record; nil finds the records without a reference.
    public static func == (field: ModelReference, id: RecordID?) -> ModelCondition<M> {
        field.condition(RecordFilter(field.key.name, equals: id.map { .reference($0) } ?? .null))
    }

    /// True if the reference leads to another record, or to none.
    public static func != (field: ModelReference, id: RecordID?) -> ModelCondition<M> { !(field == id) }

    /// True if the reference leads to the record of this snapshot.
    public static func == (field: ModelReference, record: Snapshot<Other>) -> ModelCondition<M> { field == record.id }

    /// True if the record has no reference.
    public var isNil: ModelCondition<M> { self == RecordID?.none }

    /// True if the reference leads to one of the records.
    public func `in`(_ ids: [RecordID]) -> ModelCondition<M> {
        condition(.isIn(key.name, ids.map { .reference($0) }))
    }

    private func condition(_ filter: RecordFilter) -> ModelCondition<M> {
        ModelCondition(filter, problem: key.problem(in: M.collection))
    }
}

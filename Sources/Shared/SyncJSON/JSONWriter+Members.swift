// Functions that append a whole member of an object: its key and its value.
extension JSONWriter {
    package mutating func member(_ key: StaticString, _ text: String) {
        self.key(key)
        string(text)
    }

    package mutating func member(_ key: StaticString, _ number: Int64) {
        self.key(key)
        integer(number)
    }

    package mutating func member(_ key: StaticString, _ number: Int) {
        self.key(key)
        integer(number)
    }

    package mutating func member(_ key: StaticString, _ number: some BinaryInteger) {
        self.key(key)
        integer(number)
    }

    package mutating func member(_ key: StaticString, _ bool: Bool) {
        self.key(key)
        boolean(bool)
    }

    /// Appends a member, or nothing when there is no value.
    package mutating func member(_ key: StaticString, ifAny text: String?) {
        if let text { member(key, text) }
    }

    /// Appends a member whose value is an object.
    package mutating func member(_ key: StaticString, _ body: (inout JSONWriter) -> Void) {
        self.key(key)
        object(body)
    }

    /// Appends a member whose value is an array, one element at a time.
    package mutating func member<Element>(
        _ key: StaticString, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
    ) {
        self.key(key)
        beginArray()
        for element in elements { body(&self, element) }
        endArray()
    }

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        beginObject()
        body(&self)
        endObject()
    }
}

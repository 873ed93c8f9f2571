/// The error of a benchmark that did not measure the intended work.
package struct BenchmarkError: Error, CustomStringConvertible {
    package let description: String

    package init(_ words: String) {
        description = words
    }
}

import SyncObjects
import TomboloModeling

extension ModelQuery {
    /// Returns the query for at most `limit` objects (nil for all) after the first `offset` objects.
    func page(limit: Int?, offset: Int) -> ModelQuery {
        let rest = self.offset(offset)
        return limit.map { rest.limit($0) } ?? rest
    }
}

// One row of a table through a stack of models: its cells become design entries, and these eigenvalues, in one call.
#include <algorithm>
#include <cmath>

#include "curve.hpp"
#include "host.hpp"

namespace lambdak {
namespace {

// What a row is evaluated with. Nothing in it changes, so any number of threads may call it at the same time.
class OneRow {
 public:
  using Knots = std::tuple<In, int, bool>;  // knots, first design column, clamp: as `curve` takes them

  // A column with knots is read here where its cell is a float or an int of at most `largest`; `entries`, one function per column,
  // turns all other cells into pairs (ids, weights). Every row appears once for each design column of `levels`, added as its last
  // entry, or once without any.
  OneRow(std::vector<std::optional<Knots>> curves, nb::tuple entries, double largest, In coef, int dim, Indices index,
         std::vector<int32_t> levels)
      : curves_(std::move(curves)), entries_(std::move(entries)), largest_(largest), coef_(std::move(coef)), index_(std::move(index)),
        levels_(std::move(levels)) {
    check_index(index_, dim);
    const int64_t width = int64_t(dim) * (dim + 1) / 2;
    bool fits = dim >= 1 && dim <= max_dim && coef_.ndim() == 3 && coef_.dtype() == nb::dtype<double>() && entries_.size() == curves_.size();
    fits = fits && int64_t(coef_.shape(2)) == width && coef_.stride(2) == 1 && coef_.stride(1) % pad == 0 && coef_.stride(1) >= width;
    for (const auto& curve : curves_)
      if (curve) {
        const In& knots = std::get<0>(*curve);
        fits = fits && knots.ndim() == 1 && knots.shape(0) > 1 && knots.dtype() == nb::dtype<double>() && dense(knots);
      }
    if (!fits) throw nb::value_error("one_row needs knots and padded coefficients in double precision, and a function per column");
    dim_ = dim, width_ = int((width + pad - 1) / pad * pad);
  }

  // Eigenvalues (models, levels, index) of a row, one after the other; None where some cell is not plain.
  std::optional<std::vector<double>> operator()(nb::handle cells, bool named) const {
    std::vector<int32_t> ids{0};
    std::vector<double> weights{1.0};
    ids.reserve(2 * curves_.size() + 2), weights.reserve(2 * curves_.size() + 2);
    if (!read(cells, named, ids, weights)) return std::nullopt;
    std::vector<double> values(coef_.shape(0) * copies() * index_.size());
    solve(ids, weights, values.data());
    return values;
  }

 private:
  size_t copies() const { return std::max<size_t>(levels_.size(), 1); }

  bool read(nb::handle cells, bool named, std::vector<int32_t>& ids, std::vector<double>& weights) const {
    const bool list = PyList_Check(cells.ptr());
    const auto size = list ? PyList_Size(cells.ptr()) : PyTuple_Check(cells.ptr()) ? PyTuple_Size(cells.ptr()) : -1;
    if (size != Py_ssize_t(curves_.size())) throw nb::value_error("cells must be a tuple or a list, one for each column");
    const nb::object flag = nb::borrow(named ? Py_True : Py_False);
    for (Py_ssize_t i = 0; i < size; ++i) {
      // A function of a column might change the list, or what is in it.
      const nb::object cell = nb::borrow(list ? PyList_GetItem(cells.ptr(), i) : PyTuple_GetItem(cells.ptr(), i));
      if (!cell.is_valid()) throw nb::python_error();
      double x = 0;
      if (curves_[size_t(i)] && plain_number(cell, x))
        add_curve(*curves_[size_t(i)], x, ids, weights);
      else if (!add_entries(nb::handle(PyTuple_GetItem(entries_.ptr(), i))(cell, flag), ids, weights))
        return false;
    }
    return true;
  }

  bool plain_number(nb::handle cell, double& x) const {
    if (PyFloat_CheckExact(cell.ptr())) {
      x = PyFloat_AsDouble(cell.ptr());
    } else if (PyLong_CheckExact(cell.ptr())) {
      x = PyLong_AsDouble(cell.ptr());
      if (x == -1.0 && PyErr_Occurred()) return PyErr_Clear(), false;
    } else {
      return false;
    }
    return std::abs(x) <= largest_;
  }

  static void add_curve(const Knots& knots, double x, std::vector<int32_t>& ids, std::vector<double>& weights) {
    const auto& [at, start, clamp] = knots;
    const size_t slot = ids.size();
    ids.resize(slot + 2), weights.resize(slot + 2);
    const Curve shape{static_cast<const double*>(at.data()), int64_t(at.shape(0)), start, clamp};
    fill_curve(shape, &x, 0, 1, Entries<int32_t>{ids.data() + slot, 2}, Entries<double>{weights.data() + slot, 2});
  }

  static bool add_entries(const nb::object& entries, std::vector<int32_t>& ids, std::vector<double>& weights) {
    if (entries.is_none()) return false;
    PyObject* const id = PyTuple_GetItem(entries.ptr(), 0);
    PyObject* const weight = PyTuple_GetItem(entries.ptr(), 1);
    const auto size = id && weight ? PyTuple_Size(id) : -1;
    if (size < 0 || PyTuple_Size(weight) != size) {
      PyErr_Clear();
      throw nb::value_error("entries must be ids and weights, as many of each");
    }
    for (Py_ssize_t i = 0; i < size; ++i) {
      ids.push_back(int32_t(PyLong_AsLong(PyTuple_GetItem(id, i))));
      weights.push_back(PyFloat_AsDouble(PyTuple_GetItem(weight, i)));
    }
    if (PyErr_Occurred()) throw nb::python_error();
    return true;
  }

  // The matrices of all models lie side by side in the lanes: for a single row that is where there is something to share.
  void solve(std::vector<int32_t>& ids, std::vector<double>& weights, double* values) const {
    if (!levels_.empty()) ids.push_back(0), weights.push_back(1.0);
    const int64_t total = int64_t(coef_.shape(0) * copies()), m = int64_t(index_.size());
    const Kernel* const build = active;
    Job shape;
    shape.dim = dim_, shape.n_index = int(m), shape.rows = std::min(total, step_rows), shape.double_precision = true;
    shape.index = index_.data(), shape.value = {values, m, 1, 1};
    std::vector<Guess> guess;
    complete(shape, guess);
    const int64_t packed_bytes = shape.rows * width_ * int64_t(sizeof(double));
    bool exist = true;
    in_parallel(1, 1, size_t(packed_bytes + build->scratch_bytes(shape)), [&](int64_t, void* scratch) {
      for (int64_t begin = 0; begin < total && exist; begin += step_rows) {
        Job job = shape;
        job.rows = std::min(total - begin, step_rows);
        for (int64_t i = 0; i < job.rows && exist; ++i) exist = gather(build, begin + i, ids, weights, static_cast<double*>(scratch) + i * width_);
        job.matrix = rows_of(scratch, width_);
        job.value.data = values + begin * m;
        if (exist) build->solve(job, 0, job.rows, static_cast<char*>(scratch) + packed_bytes);
      }
    });
    if (!exist) throw nb::value_error("ids holds a coefficient that does not exist");
  }

  // Packed A(row) of one model and level; says whether all ids name coefficients that exist.
  bool gather(const Kernel* build, int64_t which, std::vector<int32_t>& ids, const std::vector<double>& weights, double* packed) const {
    static constexpr int32_t only = 0;
    if (!levels_.empty()) ids.back() = levels_[size_t(which) % copies()];
    if (int64_t(build->largest(ids.data(), int64_t(ids.size()))) >= int64_t(coef_.shape(1))) return false;
    Design design;
    design.double_precision = true, design.slots = int(ids.size()), design.width = width_, design.stride = coef_.stride(1);
    design.rows = &only, design.ids = ids.data(), design.weights = weights.data();
    build->gather[1](design, 0, 1, static_cast<const double*>(coef_.data()) + which / int64_t(copies()) * coef_.stride(0), packed);
    return true;
  }

  std::vector<std::optional<Knots>> curves_;
  nb::tuple entries_;
  double largest_;
  In coef_;
  int dim_ = 0, width_ = 0;
  Indices index_;
  std::vector<int32_t> levels_;
};

}  // namespace

void bind_row(nb::module_& m) {
  nb::class_<OneRow>(m, "OneRow").def("__call__", &OneRow::operator(), nb::arg("cells"), nb::arg("named"));
  const auto make = [](std::vector<std::optional<OneRow::Knots>> curves, nb::tuple entries, double largest, In coef, int dim,
                       Indices index, std::vector<int32_t> levels) {
    return new OneRow(std::move(curves), std::move(entries), largest, std::move(coef), dim, std::move(index), std::move(levels));
  };
  m.def("one_row", make, nb::arg("curves"), nb::arg("entries"), nb::arg("largest"), nb::arg("coef"), nb::arg("dim"), nb::arg("index"),
        nb::arg("levels"), nb::rv_policy::take_ownership);
}

}  // namespace lambdak

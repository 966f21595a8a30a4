//! Records are classes of `pcc/records.py`, so that they can be printed, compared, pickled and put into tables.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The record of that class with these fields.
pub(crate) fn record<'py, Fields>(py: Python<'py>, class: &str, fields: Fields) -> PyResult<Py<PyAny>>
where
    Fields: IntoPyObject<'py, Target = PyDict, Output = Bound<'py, PyDict>, Error = PyErr>,
{
    let fields = fields.into_pyobject(py)?;
    Ok(py.import("pcc.records")?.getattr(class)?.call((), Some(&fields))?.unbind())
}

"""Students: small fast models that learn rewriting from aligned pairs, gold or written by Masker."""

from masker.students.base import KINDS, Pair, Student, StudentEditor, StudentSettings, is_student

__all__ = ["KINDS", "Pair", "Student", "StudentEditor", "StudentSettings", "is_student"]

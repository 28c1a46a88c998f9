"""What operators put over the policy at run time: values, rules of a moment, and their effect."""
